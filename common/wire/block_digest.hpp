// SPDX-License-Identifier: BSD-3-Clause
// The digests in the answer to a digest frame. Both ends compute them with this function, and
// compare them instead of the blocks.
#pragma once

#include "common/wire/frame.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace rpmem::wire {

// XXH3-128 in its canonical form, which is big-endian.
using BlockDigest = std::array<std::byte, digest_size>;

// Stores the digest of each block of RANGE in DIGESTS, which has digest_count() of them. Does not
// allocate.
void digest_blocks(std::span<const std::byte> range, std::span<BlockDigest> digests);

// The digest of a whole block of zeros.
inline constexpr BlockDigest digest_of_zeros = {
    std::byte{0xfd}, std::byte{0x5e}, std::byte{0xe0}, std::byte{0x61},
    std::byte{0xc8}, std::byte{0x43}, std::byte{0x3a}, std::byte{0x0f},
    std::byte{0x33}, std::byte{0xb2}, std::byte{0x02}, std::byte{0xd3},
    std::byte{0x02}, std::byte{0xb6}, std::byte{0x5c}, std::byte{0xaa},
};

} // namespace rpmem::wire
