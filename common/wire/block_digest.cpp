// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/block_digest.hpp"

#include <algorithm>

// Compiles the functions into this file, so that the library is not needed.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::wire {

void digest_blocks(std::span<const std::byte> range, std::span<BlockDigest> digests) {
    for (BlockDigest& digest : digests) {
        const auto block = range.first(std::min(digest_block, range.size()));
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits(block.data(), block.size()));
        std::ranges::copy(std::as_bytes(std::span(canonical.digest)), digest.begin());
        range = range.subspan(block.size());
    }
}

} // namespace rpmem::wire
