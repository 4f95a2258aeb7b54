// SPDX-License-Identifier: BSD-3-Clause
// The last message of a daemon whose pool is on a failed medium. The daemon sends it unsolicited on
// the out-of-band channel, or instead of the response to a request, and only to an initiator that
// agreed on capability_medium_failure. No input or output.
#pragma once

#include "common/wire/control_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t max_part_bytes = 4096;         // PATH_MAX
inline constexpr std::size_t max_medium_failure_text = 512; // bytes
// Where the offset is in the message: 8 bytes, big-endian. A signal handler fills it in.
inline constexpr std::size_t place_of_offset_in_medium_failure = response_header_size;

struct MediumFailure {
    std::string part;         // path of the file or device on the target
    std::uint64_t offset = 0; // offset in the part of the range that is not durable
    std::uint64_t length = 0; // length of that range
    int code = 0;             // errno value of the target
    std::string text;         // what the target tried
};

// Cuts a path or a text that is too long at its end.
[[nodiscard]] Bytes encode(const MediumFailure& failure);

// Whether HEADER has the type and the status of this message.
[[nodiscard]] bool announces_medium_failure(std::span<const std::byte> header);

// Returns the size of the whole message from its header. Fails with EBADMSG if it is out of range.
[[nodiscard]] Result<std::size_t> decode_medium_failure_size(std::span<const std::byte> header);

// MESSAGE is the whole message with its header. Fails with EBADMSG.
[[nodiscard]] Result<MediumFailure> decode_medium_failure(std::span<const std::byte> message);

} // namespace rpmem::wire
