// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/unasked.hpp"

#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"
#include "common/wire/medium_failure.hpp"

#include <cerrno>
#include <string_view>

namespace rpmem::wire {
namespace {

void put_unasked(ByteWriter& writer, MessageType type, std::size_t size) {
    writer.number(Status::success);
    writer.number(type);
    writer.big_endian(static_cast<std::uint64_t>(size));
}

} // namespace

std::optional<MessageType> unasked_type(std::span<const std::byte> header) {
    if (announces_medium_failure(header))
        return MessageType::medium_failure;
    if (header.size() != response_header_size)
        return std::nullopt;
    ByteReader reader(header);
    const Status status{reader.big_endian<std::uint32_t>()};
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const auto size = reader.big_endian<std::uint64_t>();
    if (status != Status::success)
        return std::nullopt;
    if (type == MessageType::notice ||
        (type == MessageType::target_heartbeat && size == response_header_size) ||
        (type == MessageType::pool_claim && size == pool_claim_size))
        return type;
    return std::nullopt;
}

Bytes encode_target_heartbeat() {
    ByteWriter writer(response_header_size);
    put_unasked(writer, MessageType::target_heartbeat, response_header_size);
    return writer.take();
}

Bytes encode_notice(const std::string& text) {
    const auto cut = std::string_view(text).substr(0, max_notice_bytes);
    const std::size_t size = response_header_size + cut.size();
    ByteWriter writer(size);
    put_unasked(writer, MessageType::notice, size);
    writer.text(cut);
    return writer.take();
}

Result<std::size_t> decode_notice_size(std::span<const std::byte> header) {
    if (header.size() != response_header_size)
        return fail(ErrorClass::target_refused, EBADMSG,
                    "malformed NOTICE message: its header has {} bytes, it must have {}",
                    header.size(), response_header_size);
    ByteReader reader(header.subspan(sizeof(std::uint32_t) * 2)); // after status and type
    const auto size = reader.big_endian<std::uint64_t>();
    if (size > response_header_size && size <= response_header_size + max_notice_bytes)
        return static_cast<std::size_t>(size - response_header_size);
    return fail(ErrorClass::target_refused, EBADMSG,
                "malformed NOTICE message: its size field is {}, it must be {} to {}", size,
                response_header_size + 1, response_header_size + max_notice_bytes);
}

Bytes encode(const PoolClaim& claim) {
    ByteWriter writer(pool_claim_size);
    put_unasked(writer, MessageType::pool_claim, pool_claim_size);
    writer.raw(claim.id);
    writer.big_endian(claim.epoch);
    writer.big_endian(claim.generation);
    writer.raw(claim.parts);
    return writer.take();
}

Result<PoolClaim> decode_pool_claim(std::span<const std::byte> body) {
    if (body.size() != pool_claim_size - response_header_size)
        return fail(ErrorClass::target_refused, EBADMSG,
                    "malformed POOL_CLAIM message: its body has {} bytes, it must have {}",
                    body.size(), pool_claim_size - response_header_size);
    ByteReader reader(body);
    PoolClaim claim;
    reader.raw(claim.id);
    claim.epoch = reader.big_endian<std::uint64_t>();
    claim.generation = reader.big_endian<std::uint64_t>();
    reader.raw(claim.parts);
    return claim;
}

} // namespace rpmem::wire
