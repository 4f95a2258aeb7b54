// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/pool_image.hpp"

#include "common/pools/checksum.hpp"

#include <algorithm>
#include <cstring>

namespace rpmem::initiator {
namespace {

constexpr std::size_t header_size = 4096;
constexpr std::array<char, 8> signature{'P', 'M', 'E', 'M', 'O', 'B', 'J', '\0'};
constexpr std::uint32_t known_major = 6;
// Offsets in the header, see rpmemd/pools/headers/pool_header.hpp.
constexpr std::size_t place_of_major = 8;
constexpr std::size_t place_of_incompat_features = 16;
constexpr std::size_t place_of_poolset_uuid = 24;
constexpr std::size_t place_of_checksum = 4088;
// With this feature, the checksum covers only the first 2048 bytes.
constexpr std::uint32_t incompat_checksum_2k = 0x2;
constexpr std::size_t size_of_checksum_2k = 2048;

template <typename Value>
Value value_at(std::span<const std::byte> memory, std::size_t place) {
    Value value{};
    std::memcpy(&value, memory.data() + place, sizeof(value));
    return value;
}

bool is_checksum_right(std::span<const std::byte> header) {
    const bool only_2k =
        (value_at<std::uint32_t>(header, place_of_incompat_features) & incompat_checksum_2k) != 0;
    return value_at<std::uint64_t>(header, place_of_checksum) ==
           fletcher_checksum(header, place_of_checksum,
                             only_2k ? size_of_checksum_2k : header_size);
}

} // namespace

std::optional<PoolImage> pool_image(std::span<const std::byte> memory) {
    if (memory.size() < place_of_run_id + sizeof(PoolImage::run_id))
        return std::nullopt;
    const auto header = memory.first(header_size);
    if (value_at<std::array<char, 8>>(header, 0) != signature ||
        value_at<std::uint32_t>(header, place_of_major) != known_major ||
        !is_checksum_right(header))
        return std::nullopt;
    PoolImage image;
    image.poolset_uuid = value_at<decltype(image.poolset_uuid)>(header, place_of_poolset_uuid);
    image.run_id = value_at<std::uint64_t>(memory, place_of_run_id);
    return image;
}

} // namespace rpmem::initiator
