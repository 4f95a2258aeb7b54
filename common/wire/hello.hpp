// How two peers of this project find out about each other without disturbing older ones. The
// initiator puts an offer into the environment of the remote command; a daemon that takes it sends
// hello_status instead of 0 and a hello; the initiator says what it takes of that in its answer,
// and the messages of protocol 0.1 follow. Big-endian. See rpmem-protocol(7).
#pragma once

#include "base/host_address.hpp"
#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rpmem::wire {

inline constexpr const char* offer_variable = "RPMEMD_OFFER";
inline constexpr const char* offer_value = "1";

// COMMAND with the offer before it, for the remote shell.
[[nodiscard]] std::string with_offer(const std::string& command);

// No errno value, in either byte order; in the place of the initial status.
inline constexpr std::int32_t hello_status = 0x52504d48;

inline constexpr std::uint16_t hello_version = 1;

// Later versions may append; what is not known is skipped.
inline constexpr std::size_t hello_size = 48;
inline constexpr std::size_t hello_answer_size = 16;
inline constexpr std::size_t hello_size_field = 4;
inline constexpr std::size_t max_hello_size = 1024;

inline constexpr std::size_t most_hello_addresses = 8;

// Bits of the capabilities.
// The data of a lane's connection request are a lane greeting: lanes may be connected in any order,
// and strangers are turned away.
inline constexpr std::uint64_t capability_lane_greeting = 1;
// Several persist messages may be in flight on a lane, Hello::messages at most; they are taken in
// order. The flags of an answer say how many of them it answers, the oldest first.
inline constexpr std::uint64_t capability_pipelining = 2;
// The persist method may be PersistMethod::messages: the pool is reached by messages only.
inline constexpr std::uint64_t capability_messages_only = 4;
// Persist messages may have the bit answer_may_wait. Only together with pipelining.
inline constexpr std::uint64_t capability_late_answers = 8;
// Each lane has several windows, see window_count(). Only together with pipelining and messages
// only.
inline constexpr std::uint64_t capability_windows = 16;
// Persist messages may tell the initiator's processor, see processor_shift. Only together with
// pipelining.
inline constexpr std::uint64_t capability_processors = 32;
// Persist messages may have the bit another_follows. Only together with pipelining.
inline constexpr std::uint64_t capability_gathering = 64;
// The daemon tells of a failed medium by a message of its own, see wire/medium_failure.hpp.
inline constexpr std::uint64_t capability_medium_failure = 128;
// The hello is longer: Hello::addresses follow the token.
inline constexpr std::uint64_t capability_addresses = 256;
inline constexpr std::uint64_t all_capabilities =
    capability_lane_greeting | capability_pipelining | capability_messages_only |
    capability_late_answers | capability_windows | capability_processors | capability_gathering |
    capability_medium_failure | capability_addresses;

// Bits that tell what holds for this session, not what the daemon knows. They are in the hello only
// then, and the answer repeats them.
// Nothing may be written to the pool.
inline constexpr std::uint64_t condition_read_only = 512;
// The target's configuration allows the appliance method, which over tcp does not reach the medium
// there.
inline constexpr std::uint64_t condition_no_appliance_over_tcp = 1024;
inline constexpr std::uint64_t all_conditions =
    condition_read_only | condition_no_appliance_over_tcp;

// Of Hello::inline_size where there is pipelining: every message must end at a word boundary.
inline constexpr std::uint32_t least_inline_size = 64;

inline constexpr std::size_t token_size = 16;
using Token = std::array<std::byte, token_size>;

struct Hello {
    std::uint16_t version = hello_version;
    std::uint64_t capabilities = 0;
    std::uint32_t providers = 0;   // bit N-1: provider number N may be asked for
    std::uint32_t lanes = 0;       // most lanes of a session
    std::uint32_t messages = 1;    // most persist messages in flight on a lane
    std::uint32_t inline_size = 0; // most bytes of data in one message
    Token token{};                 // of this session, for its lanes
    // Of the daemon: the one on which ssh has arrived comes first. Only with capability_addresses,
    // and most_hello_addresses at most: what is beyond is not sent.
    std::vector<HostAddress> addresses;
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

// What a lane says of itself when it connects.
struct LaneGreeting {
    std::uint32_t lane = 0;
    Token token{};
};
inline constexpr std::size_t lane_greeting_size = 4 + token_size;
[[nodiscard]] std::vector<std::byte> encode(const LaneGreeting& greeting);
// Providers may append zeros. EBADMSG if too short.
[[nodiscard]] Result<LaneGreeting> decode_lane_greeting(std::span<const std::byte> bytes);

} // namespace rpmem::wire
