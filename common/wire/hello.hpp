// SPDX-License-Identifier: BSD-3-Clause
// The hello, by which two peers of this project recognise each other. Peers of protocol 0.1 do not
// notice it. The initiator adds an offer to the remote command. A daemon that accepts the offer
// sends hello_status instead of 0, and a hello. The initiator answers with the capabilities that it
// accepts. The messages of protocol 0.1 follow. Fields are big-endian. See rpmem-protocol(7).
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

// The form of the offer. Peers of protocol 0.1 ignore the environment variable. The option is for
// login shells that cannot set one, and for forced commands that require rpmemd as the first word.
enum class OfferForm { variable, option };

// Returns COMMAND with the offer, for the remote shell.
[[nodiscard]] std::string with_offer(const std::string& command, OfferForm form);

// Sent instead of the initial status. It is not an errno value in either byte order.
inline constexpr std::int32_t hello_status = 0x52504d48;

inline constexpr std::uint16_t hello_version = 1;

// Later versions may append fields, which this one skips.
inline constexpr std::size_t hello_size = 48;
inline constexpr std::size_t hello_answer_size = 16;
inline constexpr std::size_t hello_size_field = 4;
inline constexpr std::size_t max_hello_size = 1024;

inline constexpr std::size_t max_hello_addresses = 8;

// The bits of the capabilities. 1 to 64 are reserved.
// The daemon reports a failed medium by a message, see common/wire/unsolicited.hpp.
inline constexpr std::uint64_t capability_medium_failure = 128;
// The hello contains Hello::addresses.
inline constexpr std::uint64_t capability_addresses = 256;
// The hello ends with Hello::secret. Lanes prove that they know the secret, and carry frames
// (common/wire/frame.hpp).
inline constexpr std::uint64_t capability_lane_frames = 2048;
// Lanes over tcp use TLS 1.3. Requires capability_lane_frames.
inline constexpr std::uint64_t capability_tls = 8192;
// LOGIN precedes CREATE and OPEN, both ends send heartbeats, and a lost session can be resumed.
// Requires capability_lane_frames.
inline constexpr std::uint64_t capability_resume = 32768;
// The daemon sends PoolClaim to a session that only reads, see common/wire/unsolicited.hpp.
// Requires capability_resume.
inline constexpr std::uint64_t capability_pool_claim = 65536;
// Lanes carry digest frames (common/wire/frame.hpp), the daemon sends PoolState to a session that
// may write (common/wire/unsolicited.hpp), and it accepts SET_REPLICA_STATE. Requires
// capability_resume.
inline constexpr std::uint64_t capability_compare = 131072;
inline constexpr std::uint64_t all_capabilities =
    capability_medium_failure | capability_addresses | capability_lane_frames | capability_tls |
    capability_resume | capability_pool_claim | capability_compare;

// The following bits state conditions of this session, not abilities of the daemon. The daemon sets
// those that apply, and the answer repeats them.
// The pool is read-only.
inline constexpr std::uint64_t condition_read_only = 512;
// The configuration of the target allows the appliance method, but tcp does not support it.
inline constexpr std::uint64_t condition_no_appliance_over_tcp = 1024;
// The target refuses lanes without TLS.
inline constexpr std::uint64_t condition_tls_required = 16384;
inline constexpr std::uint64_t all_conditions =
    condition_read_only | condition_no_appliance_over_tcp | condition_tls_required;

inline constexpr std::size_t session_secret_size = 32;
// The destructor wipes the bytes. Otherwise a temporary Result would leave a copy on the stack.
struct SessionSecret : std::array<std::byte, session_secret_size> {
    ~SessionSecret() { ::explicit_bzero(data(), size()); }
};

struct Hello {
    std::uint16_t version = hello_version;
    std::uint64_t capabilities = 0;
    std::uint32_t providers = 0; // bit N-1 is set if provider number N is available
    std::uint32_t lanes = 0;     // maximum number of lanes of a session
    // Addresses of the daemon. The first is the one at which ssh arrived. Requires
    // capability_addresses. Only the first max_hello_addresses are sent.
    std::vector<HostAddress> addresses;
    // The secret of this session. Requires capability_lane_frames.
    SessionSecret secret{};
};

struct HelloAnswer {
    std::uint16_t version = hello_version;
    std::uint64_t capabilities = 0; // those accepted, a subset of the offered ones
};

[[nodiscard]] constexpr std::uint32_t provider_bit(std::uint32_t provider) {
    return provider >= 1 && provider <= 32 ? std::uint32_t{1} << (provider - 1) : 0;
}

// Returns the size of a hello or an answer from its first bytes. Fails with EBADMSG unless it is
// from MIN_SIZE to max_hello_size.
[[nodiscard]] Result<std::size_t> decode_hello_size(std::span<const std::byte> bytes,
                                                    std::size_t min_size);

[[nodiscard]] std::vector<std::byte> encode(const Hello& hello);
[[nodiscard]] std::vector<std::byte> encode(const HelloAnswer& answer);
// BYTES include the size field. Fail with EBADMSG.
[[nodiscard]] Result<Hello> decode_hello(std::span<const std::byte> bytes);
[[nodiscard]] Result<HelloAnswer> decode_hello_answer(std::span<const std::byte> bytes);

// The result of the exchange. Both ends compute it by negotiate() from the same two messages. The
// default value is the agreement with a peer of protocol 0.1.
struct Agreement {
    bool lane_frames = false;     // see capability_lane_frames; true after a hello
    bool tls = false;             // see capability_tls
    bool medium_failure = false;  // see capability_medium_failure
    bool resume = false;          // see capability_resume
    bool pool_claim = false;      // see capability_pool_claim
    bool compare = false;         // see capability_compare
    std::uint64_t conditions = 0; // the bits of all_conditions that apply

    bool operator==(const Agreement&) const = default;
};

// Capabilities that the user of an initiator may turn off.
struct Preferences {
    bool tls = true;
};
[[nodiscard]] HelloAnswer answer_to(const Hello& hello, const Preferences& preferences = {});

// Fails with EPROTO without capability_lane_frames, because a hello has no other lanes.
[[nodiscard]] Result<Agreement> negotiate(const Hello& hello, const HelloAnswer& answer);

inline constexpr std::size_t token_size = 16;
using Token = std::array<std::byte, token_size>;

// The data in the connection request of a lane over libfabric.
struct LaneConnectData {
    std::uint32_t lane = 0;
    Token token{};
};
inline constexpr std::size_t lane_connect_data_size = 4 + token_size;
[[nodiscard]] std::vector<std::byte> encode(const LaneConnectData& greeting);
// Providers may append zeros. Fails with EBADMSG if BYTES are too short.
[[nodiscard]] Result<LaneConnectData> decode_lane_connect_data(std::span<const std::byte> bytes);

} // namespace rpmem::wire
