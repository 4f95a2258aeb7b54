#include "common/wire/frame.hpp"

#include "common/base/hot.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rpmem::wire {
namespace {

constexpr std::size_t checked_size = frame_header_size - sizeof(std::uint32_t);

// The first 24 bytes of a header: type, flags, two reserved bytes and length; offset; number. Four
// more reserved bytes follow, and the checksum. A later capability may give those a meaning.
using HeaderWords = std::array<std::uint64_t, 3>;

template <typename T>
T little_endian(T value) {
    if constexpr (std::endian::native == std::endian::little)
        return value;
    auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    std::array<std::byte, sizeof(T)> turned;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        turned[i] = bytes[sizeof(T) - 1 - i];
    return std::bit_cast<T>(turned);
}

template <typename T>
void put(std::byte* place, T value) {
    const T turned = little_endian(value);
    std::memcpy(place, &turned, sizeof(turned));
}

template <typename T>
T get(const std::byte* place) {
    T value;
    std::memcpy(&value, place, sizeof(value));
    return little_endian(value);
}

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

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(const HeaderWords& words) {
    std::uint64_t value = ~std::uint32_t{0};
    for (const std::uint64_t word : words)
        value = _mm_crc32_u64(value, word);
    return ~_mm_crc32_u32(static_cast<std::uint32_t>(value), 0); // the reserved field
}
const bool has_instruction = __builtin_cpu_supports("sse4.2");
#endif

std::uint32_t crc_of(const HeaderWords& words) {
    std::array<std::byte, checked_size> bytes{};
    for (std::size_t i = 0; i < words.size(); ++i)
        put(bytes.data() + i * sizeof(std::uint64_t), words[i]);
    return crc32c(bytes);
}

// The last 8 bytes of a header: nothing, and the checksum of all before.
inline std::uint64_t last_word(const HeaderWords& words) {
#if defined(__x86_64__)
    if (has_instruction) [[likely]]
        return std::uint64_t{crc_by_instruction(words)} << 32;
#endif
    return std::uint64_t{crc_of(words)} << 32;
}

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
    std::uint32_t value = ~std::uint32_t{0};
    for (const std::byte byte : bytes)
        value = value >> 8 ^ table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    return ~value;
}

RPMEM_NO_CANARY FrameBytes encode(const FrameHeader& header) {
    const HeaderWords words{static_cast<std::uint64_t>(header.type) |
                                std::uint64_t{header.flags} << 8 |
                                std::uint64_t{header.length} << 32,
                            header.offset, header.number};
    FrameBytes bytes;
    put(bytes.data(), words[0]);
    put(bytes.data() + 8, words[1]);
    put(bytes.data() + 16, words[2]);
    put(bytes.data() + 24, last_word(words));
    return bytes;
}

RPMEM_NO_CANARY std::optional<FrameHeader>
decode_frame_header(std::span<const std::byte, frame_header_size> bytes) {
    constexpr std::uint64_t reserved = 0xffff0000; // of the first word
    const HeaderWords words{get<std::uint64_t>(bytes.data()), get<std::uint64_t>(bytes.data() + 8),
                            get<std::uint64_t>(bytes.data() + 16)};
    if (get<std::uint64_t>(bytes.data() + 24) != last_word(words) || (words[0] & reserved) != 0)
        return std::nullopt;
    return FrameHeader{.type = static_cast<FrameType>(words[0] & 0xff),
                       .flags = static_cast<std::uint8_t>(words[0] >> 8),
                       .length = static_cast<std::uint32_t>(words[0] >> 32),
                       .offset = words[1],
                       .number = words[2]};
}

std::array<std::byte, lane_credits_size> encode(const LaneCredits& credits) {
    std::array<std::byte, lane_credits_size> bytes{};
    put(bytes.data(), credits.bytes);
    put(bytes.data() + 4, credits.payload);
    put(bytes.data() + 8, credits.frames);
    put(bytes.data() + 12, credits.reads);
    return bytes;
}

std::optional<LaneCredits>
decode_lane_credits(std::span<const std::byte, lane_credits_size> bytes) {
    constexpr std::uint32_t word = 8;
    // A frame that finds no room must find half of the credits taken, which a target acknowledges.
    constexpr std::uint32_t header = frame_header_size;
    const LaneCredits credits{.bytes = get<std::uint32_t>(bytes.data()),
                              .payload = get<std::uint32_t>(bytes.data() + 4),
                              .frames = get<std::uint32_t>(bytes.data() + 8),
                              .reads = get<std::uint32_t>(bytes.data() + 12)};
    const bool works = credits.bytes >= least_credit_bytes && credits.payload >= word &&
                       credits.payload <= credits.bytes / 2 - header && credits.frames > 0 &&
                       credits.frames <= most_credit_frames && credits.reads > 0;
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
    const auto malformed = [](const char* what) {
        return fail(ErrorClass::link_lost, EBADMSG, "the target broke the protocol: {}", what);
    };
    if (bytes.size() != welcome_size)
        return malformed("its credits make no sense");
    const auto header = decode_frame_header(bytes.first<frame_header_size>());
    if (!header || header->type != FrameType::welcome || header->length != lane_credits_size ||
        header->number != 0)
        return malformed("its first frame is no welcome");
    const auto credits = decode_lane_credits(bytes.last<lane_credits_size>());
    if (!credits)
        return malformed("its credits make no sense");
    return *credits;
}

} // namespace rpmem::wire
