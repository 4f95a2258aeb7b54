// SPDX-License-Identifier: BSD-3-Clause
// The unsolicited messages of the daemon on the out-of-band channel: heartbeats, notices for the
// user, the claim of the pool's last writer, and the failure of the medium. They arrive between
// responses, and have the header of a response. No input or output.
#pragma once

#include "common/wire/control_messages.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_notice_bytes = 512;

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
inline constexpr std::size_t pool_claim_size = response_header_size + 16 + 8 + 8 + 32;

// Returns the type of an unsolicited message: medium_failure, target_heartbeat, notice or
// pool_claim. Returns nothing for any other header.
[[nodiscard]] std::optional<MessageType> unasked_type(std::span<const std::byte> header);

// Returns a whole heartbeat.
[[nodiscard]] Bytes encode_target_heartbeat();

// The initiator logs TEXT at level error, which is the default level. A text that is too long is
// cut.
[[nodiscard]] Bytes encode_notice(const std::string& text);
// Returns the number of bytes after HEADER. Fails with EBADMSG if it is out of range.
[[nodiscard]] Result<std::size_t> decode_notice_size(std::span<const std::byte> header);

// Returns a whole message.
[[nodiscard]] Bytes encode(const PoolClaim& claim);
// BODY follows the header. Fails with EBADMSG if it has another size.
[[nodiscard]] Result<PoolClaim> decode_pool_claim(std::span<const std::byte> body);

} // namespace rpmem::wire
