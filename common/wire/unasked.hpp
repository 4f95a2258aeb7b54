// SPDX-License-Identifier: BSD-3-Clause
// What the daemon says on the out-of-band channel without being asked, between its responses:
// that it lives, what its user should know, and that the medium has failed. Each has the header of
// a response. Pure: no input or output.
#pragma once

#include "common/wire/control_messages.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_notice_bytes = 512; // of one sentence

// How often each end tells that it lives; and how long the other end may be silent at least,
// whatever its peer-timeout says: some beats may be late.
inline constexpr std::chrono::seconds heartbeat_interval{1};
inline constexpr std::chrono::seconds min_silence{4};

// The type of such a message, by its header: medium_failure, target_heartbeat or notice. Nothing:
// the header is that of a response, or of nothing.
[[nodiscard]] std::optional<MessageType> unasked_type(std::span<const std::byte> header);

// All of a heartbeat.
[[nodiscard]] Bytes encode_target_heartbeat();

// TEXT for the initiator's log, at level error, which is the default; it is cut if it is too long.
[[nodiscard]] Bytes encode_notice(const std::string& text);
// How many bytes follow HEADER. EBADMSG if no notice is so short or so long.
[[nodiscard]] Result<std::size_t> decode_notice_size(std::span<const std::byte> header);

} // namespace rpmem::wire
