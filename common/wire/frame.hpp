// SPDX-License-Identifier: BSD-3-Clause
// The frames on a lane: a header of 32 bytes and a payload, little-endian. docs/transport.md
// explains them, and rpmem-protocol(7) documents every byte.
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

namespace rpmem::wire {

inline constexpr std::size_t frame_header_size = 32;

enum class FrameType : std::uint8_t {
    // Sent by an initiator.
    write = 1,   // store the payload in the range, and make it durable
    persist = 2, // make the range durable; without a range only ask for an ack
    read = 3,    // send the range
    digest = 4,  // send the digests of the blocks of the range
    // Sent by both.
    bye = 5, // the last frame
    // Sent by a target.
    ack = 16,     // every write and persist up to this number is durable
    data = 17,    // the payload is the range of the read with this number
    error = 18,   // the session ends; the payload is a text that says why
    welcome = 19, // the first frame; the payload is LaneCredits
};

namespace frame_flag {
inline constexpr std::uint8_t answer_wanted = 1; // send the ack without waiting for more frames
inline constexpr std::uint8_t deep = 2;          // down to the lowest persistence domain
} // namespace frame_flag

struct FrameHeader {
    FrameType type{};
    std::uint8_t flags = 0;
    // Bytes of the payload; for `read`, `persist` and `digest` bytes of the range. A frame has 32
    // bits for it. A message of protocol 0.1 has 64.
    std::uint64_t length = 0;
    std::uint64_t offset = 0; // offset of the range in the pool; for `error` see ErrorKind
    std::uint64_t number = 0; // number of a frame of an initiator, from 1; for `ack` and `data`
                              // the number of the frame that it answers, else 0

    bool operator==(const FrameHeader&) const = default;
};

// The upper half of the offset of an `error`; the lower half is an errno value.
enum class ErrorKind : std::uint32_t {
    medium = 1,    // the disk or memory of the target failed
    protocol = 2,  // the initiator violated the protocol
    ending = 3,    // the session ends
    resources = 4, // the target reached a limit of its system
};
[[nodiscard]] constexpr std::uint64_t offset_of_error(ErrorKind kind, std::uint32_t code) {
    return static_cast<std::uint64_t>(kind) << 32 | code;
}
inline constexpr std::size_t max_error_text = 512; // bytes

using FrameBytes = std::array<std::byte, frame_header_size>;
[[nodiscard]] FrameBytes encode(const FrameHeader& header);
// Returns nothing if the checksum is wrong or a reserved field is not zero. The receiver checks the
// other fields, because only it knows which values are valid.
[[nodiscard]] std::optional<FrameHeader>
decode_frame_header(std::span<const std::byte, frame_header_size> bytes);
// Returns the error text for a header that decode_frame_header() rejects.
[[nodiscard, gnu::cold]] std::string
damage_of_header(std::span<const std::byte, frame_header_size> bytes);

// Returns the number of payload bytes after HEADER.
[[nodiscard]] constexpr std::size_t payload_of(const FrameHeader& header) {
    // The types without a payload are consecutive. A write costs one comparison.
    if (header.type >= FrameType::persist && header.type <= FrameType::digest) [[unlikely]]
        return 0;
    return header.length;
}

// Returns whether the target acknowledges a request of this type. It answers the others by `data`.
[[nodiscard]] constexpr bool is_acknowledged(FrameType request) {
    return request <= FrameType::persist; // one comparison, on the path of every persist
}

// The range of a `digest` begins at a block. If it ends within a block, the last digest covers the
// bytes up to the end of the range.
inline constexpr std::size_t digest_block = std::size_t{64} * 1024;
inline constexpr std::size_t digest_size = 16;
inline constexpr std::size_t max_digest_range = std::size_t{1024} * 1024; // of one frame

// Returns the number of digests of a range of LENGTH bytes.
[[nodiscard]] constexpr std::size_t digest_count(std::uint64_t length) {
    return (length + digest_block - 1) / digest_block;
}
inline constexpr std::size_t max_digests = digest_count(max_digest_range); // of one frame
// Over libfabric the receive buffers of an initiator have room for an error text. So they have room
// for digests, too, whatever payload the credits allow.
static_assert(max_digests * digest_size <= max_error_text);

// Returns the number of payload bytes of the `data` that answer a `read` or `digest`.
[[nodiscard]] constexpr std::uint64_t answer_of(const FrameHeader& request) {
    return request.type == FrameType::digest ? digest_count(request.length) * digest_size
                                             : request.length;
}

// The credits of a lane: the maximum that an initiator may have in progress.
struct LaneCredits {
    std::uint32_t bytes = 0;   // weight of the unacknowledged frames, see weight_of()
    std::uint32_t payload = 0; // payload bytes of one frame or one read; less than half of BYTES
    std::uint32_t frames = 0;  // unacknowledged frames
    std::uint32_t reads = 0;   // reads and digests whose data have not been sent

    bool operator==(const LaneCredits&) const = default;
};
inline constexpr std::size_t lane_credits_size = 16;
[[nodiscard]] std::array<std::byte, lane_credits_size> encode(const LaneCredits& credits);
// Returns nothing if no lane can work with these credits.
[[nodiscard]] std::optional<LaneCredits>
decode_lane_credits(std::span<const std::byte, lane_credits_size> bytes);

// The first frame of a target.
inline constexpr std::size_t welcome_size = frame_header_size + lane_credits_size;
[[nodiscard]] std::array<std::byte, welcome_size> encode_welcome(const LaneCredits& credits);
// Fails with EBADMSG if BYTES are not a welcome, or if no lane can work with its credits.
[[nodiscard]] Result<LaneCredits> decode_welcome(std::span<const std::byte> bytes);

// Returns how many bytes of the credits a frame uses. Linux charges a receive buffer at least this
// minimum for a packet, however small it is.
[[nodiscard]] constexpr std::uint64_t weight_of(const FrameHeader& header) {
    constexpr std::uint64_t min_weight = 2304;
    const std::uint64_t size = frame_header_size + payload_of(header);
    return size < min_weight ? min_weight : size;
}
inline constexpr std::uint32_t min_credit_bytes = 64 * 1024;
// A welcome with more frames is invalid. An initiator stores the range of each unacknowledged
// frame.
inline constexpr std::uint32_t max_credit_frames = 4096;

// CRC-32C, with the polynomial of Castagnoli: iSCSI and the CRC instructions of processors use it.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes);

// The rest is on the path of every persist.

// Converts a word between host order and little-endian.
template <typename T>
constexpr T on_wire(T word) {
    if constexpr (std::endian::native == std::endian::little)
        return word;
    return sizeof(word) == 8 ? __builtin_bswap64(word) : __builtin_bswap32(word);
}

template <typename T>
void put_word(std::byte* place, T word) {
    word = on_wire(word);
    std::memcpy(place, &word, sizeof(word));
}
template <typename T>
T get_word(const std::byte* place) {
    T word;
    std::memcpy(&word, place, sizeof(word));
    return on_wire(word);
}

// A header is four words: type, flags, two reserved bytes and length; offset; number; four reserved
// bytes and the CRC32C of all before. A later capability may give the reserved bytes a meaning.

extern const bool has_crc_instruction;
[[nodiscard]] std::uint64_t checksum_by_table(std::uint64_t kind, std::uint64_t offset,
                                              std::uint64_t number);

// Returns the last word of a header, computed from the others.
inline std::uint64_t checksum_of(std::uint64_t kind, std::uint64_t offset, std::uint64_t number) {
#if defined(__x86_64__)
    if (has_crc_instruction) [[likely]] {
        // _mm_crc32_u64() would not compile here, because the file is built for processors without
        // it.
        std::uint64_t value = ~std::uint32_t{0};
        asm("crc32q %1, %0" : "+r"(value) : "rm"(kind));
        asm("crc32q %1, %0" : "+r"(value) : "rm"(offset));
        asm("crc32q %1, %0" : "+r"(value) : "rm"(number));
        asm("crc32l %1, %k0" : "+r"(value) : "rm"(std::uint32_t{0}));
        return ~value << 32;
    }
#endif
    return checksum_by_table(kind, offset, number);
}

inline void encode(const FrameHeader& header, std::byte* place) {
    const std::uint64_t kind = static_cast<std::uint64_t>(header.type) |
                               std::uint64_t{header.flags} << 8 | header.length << 32;
    put_word(place, kind);
    put_word(place + 8, header.offset);
    put_word(place + 16, header.number);
    put_word(place + 24, checksum_of(kind, header.offset, header.number));
}

// Like decode_frame_header(), but returns false instead of nothing.
[[nodiscard]] inline bool decode(std::span<const std::byte, frame_header_size> bytes,
                                 FrameHeader& header) {
    constexpr std::uint64_t reserved = 0xffff0000; // of the first word
    const auto kind = get_word<std::uint64_t>(bytes.data());
    const auto offset = get_word<std::uint64_t>(bytes.data() + 8);
    const auto number = get_word<std::uint64_t>(bytes.data() + 16);
    if (get_word<std::uint64_t>(bytes.data() + 24) != checksum_of(kind, offset, number) ||
        (kind & reserved) != 0) [[unlikely]]
        return false;
    header = {.type = static_cast<FrameType>(kind & 0xff),
              .flags = static_cast<std::uint8_t>(kind >> 8),
              .length = kind >> 32,
              .offset = offset,
              .number = number};
    return true;
}

} // namespace rpmem::wire
