// SPDX-License-Identifier: BSD-3-Clause
// The checksum of pool headers, of the Fletcher type: two 32-bit sums over little-endian 32-bit
// words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rpmem {

// The size of BYTES and both offsets are multiples of 4. The 8 bytes at SELF_OFFSET and all bytes
// from ZERO_FROM on count as zero. An offset past the end excludes nothing.
std::uint64_t fletcher_checksum(std::span<const std::byte> bytes,
                                std::size_t self_offset = SIZE_MAX,
                                std::size_t zero_from = SIZE_MAX);

} // namespace rpmem
