// SPDX-License-Identifier: BSD-3-Clause
// The unsolicited messages of the daemon on the out-of-band channel: heartbeats, notices for the
// user, the claim of the pool's last writer, the state of the pool, and the failure of the medium.
// They arrive between responses, and have the header of a response. No input or output.
#pragma once

#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_notice_bytes = 512;
inline constexpr std::size_t max_part_bytes = 4096;         // PATH_MAX
inline constexpr std::size_t max_medium_failure_text = 512; // bytes

// Each end sends a heartbeat at this interval. The control channel allows a silence of at least
// min_silence, even if the peer-timeout is shorter, because some heartbeats may be late.
inline constexpr std::chrono::seconds heartbeat_interval{1};
inline constexpr std::chrono::seconds min_silence{4};

// Identifies the last claim of a writer on a pool. While it stays the same, nobody has opened the
// pool for writing. The daemon sends it before the response to OPEN of a session that only reads.
struct PoolClaim {
    std::array<std::byte, 16> id{}; // zeros if the pool has had no writer; so are the numbers
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::array<std::byte, 32> parts{}; // hash of the identities of the part files

    bool operator==(const PoolClaim&) const = default;
};

// The record of the pool, as far as the initiator needs it to make the replica equal. The daemon
// sends it before the response to CREATE or OPEN of a session that may write.
struct PoolState {
    std::array<std::byte, 16> id{};
    std::uint64_t epoch = 0; // of the claim of this session
    // Epoch of the last earlier claim that may have changed the pool; 0 if there was none.
    std::uint64_t last_epoch = 0;
    std::int64_t behind_since = 0;      // seconds since 1970; 0 if the replica is not behind
    std::int64_t catching_up_since = 0; // seconds since 1970; 0 if it is not catching up
    // Start of the first session that could go on without the replica, see PoolRecord: seconds
    // since 1970, or 0.
    std::int64_t alone_since = 0;
    // Epoch under which an operator of the target has accepted the replica as it was; 0 if none.
    std::uint64_t accepted_epoch = 0;
    // Milliseconds since a part was last changed, when the session opened it.
    std::uint64_t unchanged_for = 0;
    std::array<std::byte, 32> parts{}; // hash of the identities of the part files

    bool operator==(const PoolState&) const = default;
};

// Limit of PoolState::unchanged_for, 139 years, so that it fits into 63 bits as nanoseconds.
inline constexpr std::int64_t max_unchanged_for = std::int64_t{1} << 42;

// The last message of a daemon whose pool is on a failed medium. It may also arrive instead of the
// response to a request.
struct MediumFailure {
    std::string part;         // path of the file or device on the target
    std::uint64_t offset = 0; // offset in the part of the range that is not durable
    std::uint64_t length = 0; // length of that range
    int code = 0;             // errno value of the target
    std::string text;         // what the target tried
};
// Where the offset is in the message: 8 bytes, big-endian. A signal handler fills it in.
inline constexpr std::size_t place_of_offset_in_medium_failure = response_header_size;

// Returns the type of an unsolicited message that AGREEMENT allows. Returns nothing for any other
// header.
[[nodiscard]] std::optional<MessageType> unsolicited_type(std::span<const std::byte> header,
                                                          const Agreement& agreement);
// Returns the number of bytes after HEADER, whose type unsolicited_type() has returned. Fails with
// EBADMSG if it is out of range.
[[nodiscard]] Result<std::size_t> decode_unsolicited_size(std::span<const std::byte> header);

// The encoders return a whole message. They cut a text or a path that is too long at its end.
[[nodiscard]] Bytes encode_target_heartbeat();
// The initiator logs TEXT at level error, which is the default level.
[[nodiscard]] Bytes encode_notice(const std::string& text);
[[nodiscard]] Bytes encode(const PoolClaim& claim);
[[nodiscard]] Bytes encode(const PoolState& state);
[[nodiscard]] Bytes encode(const MediumFailure& failure);

// BODY is everything after the header. The decoders fail with EBADMSG.
[[nodiscard]] Result<PoolClaim> decode_pool_claim(std::span<const std::byte> body);
[[nodiscard]] Result<PoolState> decode_pool_state(std::span<const std::byte> body);
[[nodiscard]] Result<MediumFailure> decode_medium_failure(std::span<const std::byte> body);

} // namespace rpmem::wire
