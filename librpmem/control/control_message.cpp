// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/control/control_message.hpp"

#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"
#include "librpmem/settings/catch_up_rate.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace rpmem::initiator {
namespace {

constexpr std::string_view request_magic = "RPMEMCTL";
constexpr std::string_view answer_magic = "RPMEMANS";
constexpr std::uint32_t control_version = 1;
constexpr std::size_t max_pool = 512;  // bytes, with a final NUL
constexpr std::size_t max_text = 1024; // likewise
static_assert(control_request_size == 8 + 4 + 4 + 8 + max_pool);
static_assert(control_answer_size == 8 + 4 + 4 + max_text);

void put_text(wire::ByteWriter& writer, std::string_view text, std::size_t size) {
    const std::string_view kept = text.substr(0, size - 1);
    writer.text(kept);
    writer.zeros(size - kept.size());
}

template <std::size_t size>
Result<std::string> take_text(wire::ByteReader& reader, const char* what) {
    std::array<char, size> field{};
    reader.bytes(field);
    const auto end = std::find(field.begin(), field.end(), '\0');
    if (end == field.end() || std::any_of(end, field.end(), [](char c) { return c != '\0'; }))
        return fail(ErrorClass::caller_fault, EBADMSG,
                    "the {} does not end with NULs within its {} bytes", what, size);
    return std::string(field.begin(), end);
}

// Checks the size and the first two fields of a message.
Result<> check_head(wire::ByteReader& reader, std::size_t size, std::size_t expected_size,
                    std::string_view expected_magic) {
    std::array<char, 8> magic{};
    reader.bytes(magic);
    const auto version = reader.big_endian<std::uint32_t>();
    if (size < magic.size() + sizeof(version) ||
        std::string_view(magic.data(), magic.size()) != expected_magic)
        return fail(ErrorClass::caller_fault, EBADMSG,
                    "a message of {} bytes does not begin with \"{}\"", size, expected_magic);
    if (version != control_version)
        return fail(ErrorClass::caller_fault, EPROTONOSUPPORT,
                    "a message has version {}, expected {}: the program and rpmemctl use different "
                    "versions of librpmem; restart the program",
                    version, control_version);
    if (size != expected_size)
        return fail(ErrorClass::caller_fault, EBADMSG, "a message has {} bytes, expected {}", size,
                    expected_size);
    return {};
}

} // namespace

std::vector<std::byte> encode(const ControlRequest& request) {
    wire::ByteWriter writer(control_request_size);
    writer.text(request_magic);
    writer.big_endian(control_version);
    writer.number(request.verb);
    writer.big_endian(request.rate);
    put_text(writer, request.pool, max_pool);
    return writer.take();
}

std::vector<std::byte> encode(const ControlAnswer& answer) {
    wire::ByteWriter writer(control_answer_size);
    writer.text(answer_magic);
    writer.big_endian(control_version);
    writer.big_endian(answer.code);
    put_text(writer, answer.text, max_text);
    return writer.take();
}

Result<ControlRequest> decode_control_request(std::span<const std::byte> bytes) {
    wire::ByteReader reader(bytes);
    RPMEM_TRY(check_head(reader, bytes.size(), control_request_size, request_magic));
    ControlRequest request;
    reader.number(request.verb);
    request.rate = reader.big_endian<std::uint64_t>();
    if (request.verb > ControlVerb::rate)
        return fail(ErrorClass::caller_fault, EBADMSG, "verb {} is not supported; the last is {}",
                    static_cast<std::uint32_t>(request.verb),
                    static_cast<std::uint32_t>(ControlVerb::rate));
    const bool is_rate = request.rate >= min_catch_up_rate && request.rate <= max_catch_up_rate;
    if (request.rate != 0 && (request.verb != ControlVerb::rate || !is_rate))
        return fail(ErrorClass::caller_fault, EBADMSG,
                    "a rate of {} bytes/s is out of range: 0, or with verb {} from {} to {}",
                    request.rate, static_cast<std::uint32_t>(ControlVerb::rate), min_catch_up_rate,
                    max_catch_up_rate);
    RPMEM_ASSIGN(request.pool, take_text<max_pool>(reader, "name of the pool"));
    return request;
}

Result<ControlAnswer> decode_control_answer(std::span<const std::byte> bytes) {
    wire::ByteReader reader(bytes);
    RPMEM_TRY(check_head(reader, bytes.size(), control_answer_size, answer_magic));
    ControlAnswer answer;
    answer.code = reader.big_endian<std::uint32_t>();
    RPMEM_ASSIGN(answer.text, take_text<max_text>(reader, "text of the answer"));
    return answer;
}

} // namespace rpmem::initiator
