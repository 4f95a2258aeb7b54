// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/unsolicited.hpp"

#include "common/base/text.hpp"
#include "common/wire/byte_reader.hpp"
#include "common/wire/control_layout.hpp"

#include <limits>
#include <string_view>

namespace rpmem::wire {
namespace {

using layout::malformed;

// The largest errno value of Linux (MAX_ERRNO).
constexpr std::uint32_t max_errno = 4095;

ByteWriter begin_message(MessageType type, std::size_t size) {
    ByteWriter writer(size);
    layout::put_header(writer, layout::find_kind(type)->unsolicited_status, type, size);
    return writer;
}

// Checks the size again, because the caller may not have got it from decode_unsolicited_size().
Result<> check_body(MessageType type, std::span<const std::byte> body) {
    return layout::check_size(*layout::find_kind(type), response_header_size + body.size());
}

} // namespace

std::optional<MessageType> unsolicited_type(std::span<const std::byte> header,
                                            const Agreement& agreement) {
    if (header.size() != response_header_size)
        return std::nullopt;
    ByteReader reader(header);
    const Status status{reader.big_endian<std::uint32_t>()};
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const layout::MessageKind* const kind = layout::find_kind(type);
    if (!kind || !kind->agreed || !(agreement.*kind->agreed) || status != kind->unsolicited_status)
        return std::nullopt;
    if (kind->smallest == kind->largest && reader.big_endian<std::uint64_t>() != kind->largest)
        return std::nullopt;
    return type;
}

Result<std::size_t> decode_unsolicited_size(std::span<const std::byte> header) {
    ByteReader reader(header.subspan(sizeof(Status)));
    const MessageType type{reader.big_endian<std::uint32_t>()};
    const auto size = reader.big_endian<std::uint64_t>();
    RPMEM_TRY(layout::check_size(*layout::find_kind(type), size));
    return static_cast<std::size_t>(size - response_header_size);
}

Bytes encode_target_heartbeat() {
    return begin_message(MessageType::target_heartbeat, response_header_size).take();
}

Bytes encode_notice(const std::string& text) {
    const auto cut = std::string_view(text).substr(0, max_notice_bytes);
    ByteWriter writer = begin_message(MessageType::notice, response_header_size + cut.size());
    writer.text(cut);
    return writer.take();
}

Bytes encode(const PoolClaim& claim) {
    ByteWriter writer = begin_message(MessageType::pool_claim, layout::pool_claim_size);
    writer.raw(claim.id);
    writer.big_endian(claim.epoch);
    writer.big_endian(claim.generation);
    writer.raw(claim.parts);
    return writer.take();
}

Bytes encode(const PoolState& state) {
    ByteWriter writer = begin_message(MessageType::pool_state, layout::pool_state_size);
    writer.raw(state.id);
    writer.big_endian(state.epoch);
    writer.big_endian(state.last_epoch);
    writer.big_endian(static_cast<std::uint64_t>(state.behind_since));
    writer.big_endian(static_cast<std::uint64_t>(state.catching_up_since));
    writer.big_endian(static_cast<std::uint64_t>(state.alone_since));
    writer.big_endian(state.accepted_epoch);
    writer.big_endian(state.unchanged_for);
    writer.raw(state.parts);
    return writer.take();
}

Bytes encode(const MediumFailure& failure) {
    const auto part = std::string_view(failure.part).substr(0, max_part_bytes);
    const auto text = std::string_view(failure.text).substr(0, max_medium_failure_text);
    ByteWriter writer = begin_message(
        MessageType::medium_failure, layout::medium_failure_fixed_size + part.size() + text.size());
    writer.big_endian(failure.offset);
    writer.big_endian(failure.length);
    writer.big_endian(static_cast<std::uint32_t>(failure.code));
    writer.big_endian(static_cast<std::uint32_t>(part.size()));
    writer.big_endian(static_cast<std::uint32_t>(text.size()));
    writer.text(part);
    writer.text(text);
    return writer.take();
}

Result<PoolClaim> decode_pool_claim(std::span<const std::byte> body) {
    RPMEM_TRY(check_body(MessageType::pool_claim, body));
    ByteReader reader(body);
    PoolClaim claim;
    reader.raw(claim.id);
    claim.epoch = reader.big_endian<std::uint64_t>();
    claim.generation = reader.big_endian<std::uint64_t>();
    reader.raw(claim.parts);
    return claim;
}

Result<PoolState> decode_pool_state(std::span<const std::byte> body) {
    RPMEM_TRY(check_body(MessageType::pool_state, body));
    ByteReader reader(body);
    PoolState state;
    reader.raw(state.id);
    state.epoch = reader.big_endian<std::uint64_t>();
    state.last_epoch = reader.big_endian<std::uint64_t>();
    const auto behind_since = reader.big_endian<std::uint64_t>();
    const auto catching_up_since = reader.big_endian<std::uint64_t>();
    const auto alone_since = reader.big_endian<std::uint64_t>();
    constexpr std::uint64_t max_time = std::numeric_limits<std::int64_t>::max();
    if (behind_since > max_time || catching_up_since > max_time || alone_since > max_time)
        return malformed("malformed POOL_STATE message: its times are {}, {} and {}, they must be "
                         "at most {}",
                         behind_since, catching_up_since, alone_since, max_time);
    state.behind_since = static_cast<std::int64_t>(behind_since);
    state.catching_up_since = static_cast<std::int64_t>(catching_up_since);
    state.alone_since = static_cast<std::int64_t>(alone_since);
    state.accepted_epoch = reader.big_endian<std::uint64_t>();
    state.unchanged_for = reader.big_endian<std::uint64_t>();
    if (state.unchanged_for > static_cast<std::uint64_t>(max_unchanged_for))
        return malformed(
            "malformed POOL_STATE message: its parts are unchanged for {} ms, they must "
            "be at most {}",
            state.unchanged_for, max_unchanged_for);
    reader.raw(state.parts);
    return state;
}

Result<MediumFailure> decode_medium_failure(std::span<const std::byte> body) {
    RPMEM_TRY(check_body(MessageType::medium_failure, body));
    ByteReader reader(body);
    MediumFailure failure;
    failure.offset = reader.big_endian<std::uint64_t>();
    failure.length = reader.big_endian<std::uint64_t>();
    const auto code = reader.big_endian<std::uint32_t>();
    const auto part_size = reader.big_endian<std::uint32_t>();
    const auto text_size = reader.big_endian<std::uint32_t>();
    const auto rest = reader.rest();
    if (code == 0 || code > max_errno)
        return malformed("malformed MEDIUM_FAILURE message: its errno value is {}, it must be 1 "
                         "to {}",
                         code, max_errno);
    if (part_size > max_part_bytes || text_size > max_medium_failure_text ||
        rest.size() != std::size_t{part_size} + text_size)
        return malformed("malformed MEDIUM_FAILURE message: it announces a path of {} bytes and a "
                         "text of {} (at most {} and {}), and {} bytes follow",
                         part_size, text_size, max_part_bytes, max_medium_failure_text,
                         rest.size());
    failure.code = static_cast<int>(code);
    failure.part = text_of(rest.first(part_size));
    failure.text = text_of(rest.subspan(part_size));
    return failure;
}

} // namespace rpmem::wire
