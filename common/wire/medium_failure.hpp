// SPDX-License-Identifier: BSD-3-Clause
// The daemon's last message when the medium under a pool has failed. The daemon sends it on the
// out-of-band channel without being asked, or in the place of the response to a request, and only
// to an initiator that took capability_medium_failure. Pure: no input or output.
#pragma once

#include "common/wire/control_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_part_bytes = 4096;         // a path, see PATH_MAX
inline constexpr std::size_t max_medium_failure_text = 512; // bytes of one sentence
// For one who learns the offset in a signal handler: 8 bytes, big-endian.
inline constexpr std::size_t place_of_offset_in_medium_failure = response_header_size;

struct MediumFailure {
    std::string part;         // the path of its file or device on the target
    std::uint64_t offset = 0; // in the part, of the range that is not durable
    std::uint64_t length = 0; // of that range
    int code = 0;             // the target's errno value
    std::string text;         // what the target tried
};

// A path or a text that is too long is cut: what it begins with is sent.
[[nodiscard]] Bytes encode(const MediumFailure& failure);

// Whether a response header is that of this message. Type and status alone are looked at.
[[nodiscard]] bool announces_medium_failure(std::span<const std::byte> header);

// The size of the whole message, from its header. EBADMSG if no message is so short or so long.
[[nodiscard]] Result<std::size_t> decode_medium_failure_size(std::span<const std::byte> header);

// MESSAGE is all of it, header included. EBADMSG.
[[nodiscard]] Result<MediumFailure> decode_medium_failure(std::span<const std::byte> message);

} // namespace rpmem::wire
