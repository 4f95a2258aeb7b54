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

// Returns the digest of a whole block of zeros.
[[nodiscard]] const BlockDigest& digest_of_zeros();

} // namespace rpmem::wire
