#include "wire/frame.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rpmem::wire {
namespace {

constexpr std::size_t checked_size = frame_header_size - sizeof(std::uint32_t);

// The two reserved fields, which a later capability may give a meaning.
constexpr std::size_t reserved_short = 2;
constexpr std::size_t reserved_long = 24;

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

std::uint32_t crc_by_table(std::span<const std::byte> bytes) {
    std::uint32_t value = ~std::uint32_t{0};
    for (const std::byte byte : bytes)
        value = value >> 8 ^ table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    return ~value;
}

#if defined(__x86_64__)
// A library would do the same for long texts; a header has 28 bytes.
__attribute__((target("sse4.2"))) std::uint32_t
crc_by_instruction(std::span<const std::byte> rest) {
    std::uint64_t value = ~std::uint32_t{0};
    for (; rest.size() >= sizeof(std::uint64_t); rest = rest.subspan(sizeof(std::uint64_t)))
        value = _mm_crc32_u64(value, get<std::uint64_t>(rest.data()));
    auto small = static_cast<std::uint32_t>(value);
    if (rest.size() >= sizeof(std::uint32_t)) {
        small = _mm_crc32_u32(small, get<std::uint32_t>(rest.data()));
        rest = rest.subspan(sizeof(std::uint32_t));
    }
    for (const std::byte byte : rest)
        small = _mm_crc32_u8(small, std::to_integer<unsigned char>(byte));
    return ~small;
}
const bool has_instruction = __builtin_cpu_supports("sse4.2");
#endif

} // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
    if (has_instruction) [[likely]]
        return crc_by_instruction(bytes);
#endif
    return crc_by_table(bytes);
}

FrameBytes encode(const FrameHeader& header) {
    FrameBytes bytes{};
    put(bytes.data(), static_cast<std::uint8_t>(header.type));
    put(bytes.data() + 1, header.flags);
    put(bytes.data() + 4, header.length);
    put(bytes.data() + 8, header.offset);
    put(bytes.data() + 16, header.number);
    put(bytes.data() + checked_size, crc32c(std::span(bytes).first(checked_size)));
    return bytes;
}

std::optional<FrameHeader>
decode_frame_header(std::span<const std::byte, frame_header_size> bytes) {
    if (get<std::uint32_t>(bytes.data() + checked_size) != crc32c(bytes.first(checked_size)) ||
        get<std::uint16_t>(bytes.data() + reserved_short) != 0 ||
        get<std::uint32_t>(bytes.data() + reserved_long) != 0)
        return std::nullopt;
    return FrameHeader{.type = static_cast<FrameType>(get<std::uint8_t>(bytes.data())),
                       .flags = get<std::uint8_t>(bytes.data() + 1),
                       .length = get<std::uint32_t>(bytes.data() + 4),
                       .offset = get<std::uint64_t>(bytes.data() + 8),
                       .number = get<std::uint64_t>(bytes.data() + 16)};
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
                       credits.reads > 0;
    return works ? std::optional(credits) : std::nullopt;
}

} // namespace rpmem::wire
