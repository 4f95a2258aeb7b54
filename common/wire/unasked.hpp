// SPDX-License-Identifier: BSD-3-Clause
// The unsolicited messages of the daemon on the out-of-band channel: heartbeats, notices for the
// user, and the failure of the medium. They arrive between responses, and have the header of a
// response. No input or output.
#pragma once

#include "common/wire/control_messages.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_notice_bytes = 512;

// Each end sends a heartbeat at this interval. The control channel allows a silence of at least
// min_silence, even if the peer-timeout is shorter, because some heartbeats may be late.
inline constexpr std::chrono::seconds heartbeat_interval{1};
inline constexpr std::chrono::seconds min_silence{4};

// Returns the type of an unsolicited message: medium_failure, target_heartbeat or notice. Returns
// nothing for any other header.
[[nodiscard]] std::optional<MessageType> unasked_type(std::span<const std::byte> header);

// Returns a whole heartbeat.
[[nodiscard]] Bytes encode_target_heartbeat();

// The initiator logs TEXT at level error, which is the default level. A text that is too long is
// cut.
[[nodiscard]] Bytes encode_notice(const std::string& text);
// Returns the number of bytes after HEADER. Fails with EBADMSG if it is out of range.
[[nodiscard]] Result<std::size_t> decode_notice_size(std::span<const std::byte> header);

} // namespace rpmem::wire
