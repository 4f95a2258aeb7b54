// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/medium_failure.hpp"

#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace rpmem::wire {
namespace {

constexpr std::size_t min_size = response_header_size + 8 + 8 + 4 + 4 + 4;
constexpr std::size_t max_size = min_size + max_part_bytes + max_medium_failure_text;

// The largest errno value of Linux (MAX_ERRNO).
constexpr std::uint32_t largest_errno = 4095;

template <typename... Args>
Failure malformed_medium_failure(fmt::format_string<Args...> what, Args&&... args) {
    return in_context(
        "malformed MEDIUM_FAILURE message",
        fail(ErrorClass::target_refused, EBADMSG, what, std::forward<Args>(args)...).value());
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

Bytes encode(const MediumFailure& failure) {
    const auto part = std::string_view(failure.part).substr(0, max_part_bytes);
    const auto text = std::string_view(failure.text).substr(0, max_medium_failure_text);
    const std::size_t size = min_size + part.size() + text.size();
    ByteWriter writer(size);
    writer.number(Status::medium_failed);
    writer.number(MessageType::medium_failure);
    writer.big_endian(static_cast<std::uint64_t>(size));
    writer.big_endian(failure.offset);
    writer.big_endian(failure.length);
    writer.big_endian(static_cast<std::uint32_t>(failure.code));
    writer.big_endian(static_cast<std::uint32_t>(part.size()));
    writer.big_endian(static_cast<std::uint32_t>(text.size()));
    writer.text(part);
    writer.text(text);
    return writer.take();
}

bool announces_medium_failure(std::span<const std::byte> header) {
    if (header.size() != response_header_size)
        return false;
    ByteReader reader(header);
    const Status status{reader.big_endian<std::uint32_t>()};
    const MessageType type{reader.big_endian<std::uint32_t>()};
    return status == Status::medium_failed && type == MessageType::medium_failure;
}

Result<std::size_t> decode_medium_failure_size(std::span<const std::byte> header) {
    if (header.size() != response_header_size)
        return malformed_medium_failure("its header has {} bytes, it must have {}", header.size(),
                                        response_header_size);
    ByteReader reader(header.subspan(sizeof(std::uint32_t) * 2)); // after status and type
    const auto size = reader.big_endian<std::uint64_t>();
    if (size < min_size || size > max_size)
        return malformed_medium_failure("its size field is {}, it must be {} to {}", size, min_size,
                                        max_size);
    return static_cast<std::size_t>(size);
}

Result<MediumFailure> decode_medium_failure(std::span<const std::byte> message) {
    const auto header = message.first(std::min(message.size(), response_header_size));
    RPMEM_ASSIGN(const auto size, decode_medium_failure_size(header));
    if (message.size() != size)
        return malformed_medium_failure("it has {} bytes, its size field is {}", message.size(),
                                        size);
    if (!announces_medium_failure(header)) {
        ByteReader fields(header);
        const auto status = fields.big_endian<std::uint32_t>();
        const auto type = fields.big_endian<std::uint32_t>();
        return malformed_medium_failure(
            "its status is {} and its type is {}, they must be {} and {}", status, type,
            static_cast<std::uint32_t>(Status::medium_failed),
            static_cast<std::uint32_t>(MessageType::medium_failure));
    }
    ByteReader reader(message.subspan(response_header_size));
    MediumFailure failure;
    failure.offset = reader.big_endian<std::uint64_t>();
    failure.length = reader.big_endian<std::uint64_t>();
    const auto code = reader.big_endian<std::uint32_t>();
    const auto part_size = reader.big_endian<std::uint32_t>();
    const auto text_size = reader.big_endian<std::uint32_t>();
    const auto rest = reader.rest();
    if (code == 0 || code > largest_errno)
        return malformed_medium_failure("its errno value is {}, it must be 1 to {}", code,
                                        largest_errno);
    if (part_size > max_part_bytes || text_size > max_medium_failure_text ||
        rest.size() != std::size_t{part_size} + text_size)
        return malformed_medium_failure(
            "it announces a path of {} bytes and a text of {} (at most {} and {}), and {} bytes "
            "follow",
            part_size, text_size, max_part_bytes, max_medium_failure_text, rest.size());
    failure.code = static_cast<int>(code);
    failure.part = text_of(rest.first(part_size));
    failure.text = text_of(rest.subspan(part_size));
    return failure;
}

} // namespace rpmem::wire
