// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/frame.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::wire {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
    constexpr std::uint32_t polynomial = 0x82f63b78; // reflected
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = value >> 1 ^ ((value & 1) != 0 ? polynomial : 0);
        table[i] = value;
    }
    return table;
}
constexpr auto table = make_table();

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t value = ~std::uint32_t{0};
    for (const std::byte byte : bytes)
        value = value >> 8 ^ table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    return ~value;
}

#if defined(__x86_64__)
const bool has_crc_instruction = __builtin_cpu_supports("sse4.2");
#else
const bool has_crc_instruction = false;
#endif

std::uint64_t checksum_by_table(std::uint64_t kind, std::uint64_t offset, std::uint64_t number) {
    FrameBytes bytes{};
    put_word(bytes.data(), kind);
    put_word(bytes.data() + 8, offset);
    put_word(bytes.data() + 16, number);
    return std::uint64_t{crc32c(std::span(bytes).first<28>())} << 32;
}

FrameBytes encode(const FrameHeader& header) {
    FrameBytes bytes;
    encode(header, bytes.data());
    return bytes;
}

std::optional<FrameHeader>
decode_frame_header(std::span<const std::byte, frame_header_size> bytes) {
    FrameHeader header;
    return decode(bytes, header) ? std::optional(header) : std::nullopt;
}

std::string damage_of_header(std::span<const std::byte, frame_header_size> bytes) {
    const auto word = [bytes](std::size_t index) {
        return get_word<std::uint64_t>(bytes.data() + 8 * index);
    };
    const std::uint64_t expected = checksum_of(word(0), word(1), word(2));
    if (word(3) == expected)
        return fmt::format("received a header with reserved bits in its first word {:#018x}",
                           word(0));
    return fmt::format("received a header with checksum {:#018x}, expected {:#018x}; bytes were "
                       "altered in transit",
                       word(3), expected);
}

std::array<std::byte, lane_credits_size> encode(const LaneCredits& credits) {
    std::array<std::byte, lane_credits_size> bytes;
    put_word(bytes.data(), credits.bytes);
    put_word(bytes.data() + 4, credits.payload);
    put_word(bytes.data() + 8, credits.frames);
    put_word(bytes.data() + 12, credits.reads);
    return bytes;
}

std::optional<LaneCredits>
decode_lane_credits(std::span<const std::byte, lane_credits_size> bytes) {
    constexpr std::uint32_t word = 8;
    constexpr std::uint32_t header = frame_header_size;
    const LaneCredits credits{.bytes = get_word<std::uint32_t>(bytes.data()),
                              .payload = get_word<std::uint32_t>(bytes.data() + 4),
                              .frames = get_word<std::uint32_t>(bytes.data() + 8),
                              .reads = get_word<std::uint32_t>(bytes.data() + 12)};
    // A frame may use at most half of the credits. If it has no room, more than half of them are in
    // use, and the target acknowledges those frames unasked. Otherwise the lane would stall.
    const bool works = credits.bytes >= min_credit_bytes && credits.payload >= word &&
                       credits.payload <= credits.bytes / 2 - header && credits.frames > 0 &&
                       credits.frames <= max_credit_frames && credits.reads > 0;
    return works ? std::optional(credits) : std::nullopt;
}

std::array<std::byte, welcome_size> encode_welcome(const LaneCredits& credits) {
    const auto header = encode({.type = FrameType::welcome, .length = lane_credits_size});
    const auto payload = encode(credits);
    std::array<std::byte, welcome_size> frame;
    std::ranges::copy(payload, std::ranges::copy(header, frame.begin()).out);
    return frame;
}

Result<LaneCredits> decode_welcome(std::span<const std::byte> bytes) {
    const auto malformed = [](const std::string& what) {
        return fail(ErrorClass::link_lost, EBADMSG, "the target violated the protocol: it sent {}",
                    what);
    };
    if (bytes.size() != welcome_size)
        return malformed(
            fmt::format("{} bytes, expected a welcome of {} bytes", bytes.size(), welcome_size));
    const auto header = decode_frame_header(bytes.first<frame_header_size>());
    if (!header) // altered on the way, which is no violation of the protocol
        return fail(ErrorClass::link_lost, ECONNRESET, "{}",
                    damage_of_header(bytes.first<frame_header_size>()));
    if (header->type != FrameType::welcome || header->length != lane_credits_size ||
        header->number != 0)
        return malformed(fmt::format(
            "a frame of type {} with length {} and number {}, expected a welcome (type {}, length "
            "{}, number 0)",
            static_cast<unsigned>(header->type), header->length, header->number,
            static_cast<unsigned>(FrameType::welcome), lane_credits_size));
    const auto payload = bytes.last<lane_credits_size>();
    const auto credits = decode_lane_credits(payload);
    if (!credits)
        return malformed(fmt::format(
            "credits of {} bytes, {} bytes of payload, {} frames and {} reads; expected at least "
            "{} bytes, less than half of them as payload, 1 to {} frames and at least 1 read",
            get_word<std::uint32_t>(payload.data()), get_word<std::uint32_t>(payload.data() + 4),
            get_word<std::uint32_t>(payload.data() + 8),
            get_word<std::uint32_t>(payload.data() + 12), min_credit_bytes, max_credit_frames));
    return *credits;
}

} // namespace rpmem::wire
