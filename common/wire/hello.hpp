// SPDX-License-Identifier: BSD-3-Clause
// How two peers of this project find out about each other without disturbing older ones. The
// initiator puts an offer into the environment of the remote command; a daemon that takes it sends
// hello_status instead of 0 and a hello; the initiator says what it takes of that in its answer,
// and the messages of protocol 0.1 follow. Big-endian. See rpmem-protocol(7).
#pragma once

#include "common/base/host_address.hpp"
#include "common/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace rpmem::wire {

inline constexpr const char* offer_variable = "RPMEMD_OFFER";
inline constexpr const char* offer_value = "1";

inline constexpr const char* offer_option = "--offer";

// How the initiator says that it knows the hello. Peers of 0.1 ignore the variable. The option is
// for login shells and forced commands that only run a command which begins with rpmemd.
enum class OfferForm { variable, option };

// COMMAND with the offer, for the remote shell.
[[nodiscard]] std::string with_offer(const std::string& command, OfferForm form);

// No errno value, in either byte order; in the place of the initial status.
inline constexpr std::int32_t hello_status = 0x52504d48;

inline constexpr std::uint16_t hello_version = 1;

// Later versions may append; what is not known is skipped.
inline constexpr std::size_t hello_size = 48;
inline constexpr std::size_t hello_answer_size = 16;
inline constexpr std::size_t hello_size_field = 4;
inline constexpr std::size_t max_hello_size = 1024;

inline constexpr std::size_t max_hello_addresses = 8;

// Bits of the capabilities.
// 1 to 64 had a meaning in versions that were never released.
// The daemon tells of a failed medium by a message of its own, see common/wire/medium_failure.hpp.
inline constexpr std::uint64_t capability_medium_failure = 128;
// The hello is longer: Hello::addresses follow the token.
inline constexpr std::uint64_t capability_addresses = 256;
// The hello is longer still: Hello::secret ends it. Lanes prove that they know it, and carry frames
// (common/wire/frame.hpp).
inline constexpr std::uint64_t capability_lane_frames = 2048;
// Lanes over tcp use TLS 1.3. Only with capability_lane_frames.
inline constexpr std::uint64_t capability_tls = 8192;
// LOGIN comes before CREATE and OPEN, both ends send heartbeats, and a session that is lost can be
// taken up again. Only with capability_lane_frames.
inline constexpr std::uint64_t capability_resume = 32768;
inline constexpr std::uint64_t all_capabilities = capability_medium_failure | capability_addresses |
                                                  capability_lane_frames | capability_tls |
                                                  capability_resume;

// Bits that tell what holds for this session, not what the daemon knows. They are in the hello only
// then, and the answer repeats them.
// Nothing may be written to the pool.
inline constexpr std::uint64_t condition_read_only = 512;
// The target's configuration allows the appliance method, which there is not over tcp.
inline constexpr std::uint64_t condition_no_appliance_over_tcp = 1024;
// Lanes without TLS are refused.
inline constexpr std::uint64_t condition_tls_required = 16384;
inline constexpr std::uint64_t all_conditions =
    condition_read_only | condition_no_appliance_over_tcp | condition_tls_required;

inline constexpr std::size_t session_secret_size = 32;
// Wiped when it goes out of scope: a temporary Result leaves a copy on the stack, too.
struct SessionSecret : std::array<std::byte, session_secret_size> {
    ~SessionSecret() { ::explicit_bzero(data(), size()); }
};

struct Hello {
    std::uint16_t version = hello_version;
    std::uint64_t capabilities = 0;
    std::uint32_t providers = 0; // bit N-1: provider number N may be asked for
    std::uint32_t lanes = 0;     // most lanes of a session
    // Of the daemon: the one on which ssh has arrived comes first. Only with capability_addresses,
    // and max_hello_addresses at most: what is beyond is not sent.
    std::vector<HostAddress> addresses;
    // Of this session, known to nobody else. Only with capability_lane_frames.
    SessionSecret secret{};
};

struct HelloAnswer {
    std::uint16_t version = hello_version;
    std::uint64_t capabilities = 0; // taken; a subset of those offered
};

[[nodiscard]] constexpr std::uint32_t provider_bit(std::uint32_t provider) {
    return provider >= 1 && provider <= 32 ? std::uint32_t{1} << (provider - 1) : 0;
}

// The size of a hello or an answer from its first bytes; EBADMSG unless LEAST to max_hello_size.
[[nodiscard]] Result<std::size_t> decode_hello_size(std::span<const std::byte> bytes,
                                                    std::size_t least);

[[nodiscard]] std::vector<std::byte> encode(const Hello& hello);
[[nodiscard]] std::vector<std::byte> encode(const HelloAnswer& answer);
// All bytes, the size field included. EBADMSG.
[[nodiscard]] Result<Hello> decode_hello(std::span<const std::byte> bytes);
[[nodiscard]] Result<HelloAnswer> decode_hello_answer(std::span<const std::byte> bytes);

// What both ends of a session know of each other once the hello is answered. Both reach it by the
// same function, from the same two messages.
// By default: that with a peer of protocol 0.1, which knows no hello.
struct Agreement {
    bool knows_hello = false;     // the provider may be tcp
    bool lane_frames = false;     // see capability_lane_frames; a peer of the hello needs it
    bool tls = false;             // see capability_tls
    bool medium_failure = false;  // see capability_medium_failure
    bool resume = false;          // see capability_resume
    std::uint64_t conditions = 0; // of all_conditions, those that hold

    bool operator==(const Agreement&) const = default;
};

// The capabilities that an initiator knows and does not want.
struct Preferences {
    bool tls = true;
};
[[nodiscard]] HelloAnswer answer_to(const Hello& hello, const Preferences& preferences = {});

[[nodiscard]] Agreement negotiate(const Hello& hello, const HelloAnswer& answer);

inline constexpr std::size_t token_size = 16;
using Token = std::array<std::byte, token_size>;

// The connection request of a lane over a fabric.
struct LaneConnectData {
    std::uint32_t lane = 0;
    Token token{};
};
inline constexpr std::size_t lane_connect_data_size = 4 + token_size;
[[nodiscard]] std::vector<std::byte> encode(const LaneConnectData& greeting);
// Providers may append zeros. EBADMSG if too short.
[[nodiscard]] Result<LaneConnectData> decode_lane_connect_data(std::span<const std::byte> bytes);

} // namespace rpmem::wire
