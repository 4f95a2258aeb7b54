// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/checksum.hpp"

#include <bit>
#include <cstring>

namespace rpmem {

std::uint64_t fletcher_checksum(std::span<const std::byte> bytes, std::size_t self_offset,
                                std::size_t zero_from) {
    static_assert(std::endian::native == std::endian::little, "words are read in host order");
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    for (std::size_t offset = 0; offset + sizeof(std::uint32_t) <= bytes.size();
         offset += sizeof(std::uint32_t)) {
        const bool inside_itself =
            offset >= self_offset && offset - self_offset < sizeof(std::uint64_t);
        std::uint32_t word = 0;
        if (!inside_itself && offset < zero_from)
            std::memcpy(&word, bytes.data() + offset, sizeof(word));
        low += word;
        high += low;
    }
    return std::uint64_t{high} << 32 | low;
}

} // namespace rpmem
