// SPDX-License-Identifier: BSD-3-Clause
// Tests the digests of blocks against values that libxxhash computes here, block by block. The test
// fails if a digest has another algorithm, seed or byte order, covers other bytes than its block,
// or if the last block of a range is not cut off at the end of the range.
#include "common/wire/block_digest.hpp"
#include "tests/support/expect.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rpmem::wire {
namespace {

std::vector<std::byte> sample(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 4096);
    return bytes;
}

std::vector<BlockDigest> digests_of(std::span<const std::byte> range) {
    std::vector<BlockDigest> digests(digest_count(range.size()));
    digest_blocks(range, digests);
    return digests;
}

// The manual page documents big-endian bytes, so they are written here without libxxhash.
BlockDigest expected(std::span<const std::byte> block) {
    const XXH128_hash_t hash = XXH3_128bits(block.data(), block.size());
    BlockDigest digest;
    for (std::size_t i = 0; i < 8; ++i) {
        digest[i] = static_cast<std::byte>(hash.high64 >> (56 - 8 * i));
        digest[8 + i] = static_cast<std::byte>(hash.low64 >> (56 - 8 * i));
    }
    return digest;
}

TEST(BlockDigest, IsXxh3OfEachBlock) {
    for (const std::size_t size : {std::size_t{1}, digest_block - 1, digest_block, digest_block + 1,
                                   3 * digest_block + 4096, max_digest_range}) {
        SCOPED_TRACE(size);
        const std::vector<std::byte> bytes = sample(size);
        const auto digests = digests_of(bytes);
        ASSERT_EQ(digests.size(), (size - 1) / digest_block + 1);
        for (std::size_t i = 0; i < digests.size(); ++i) {
            const std::span rest = std::span(bytes).subspan(i * digest_block);
            EXPECT_EQ(digests[i], expected(rest.first(std::min(digest_block, rest.size())))) << i;
        }
    }
}

TEST(BlockDigest, ChangesWithEachByteOfItsBlockOnly) {
    std::vector<std::byte> bytes = sample(3 * digest_block);
    const auto before = digests_of(bytes);
    for (const std::size_t changed : {digest_block, digest_block + 4711, 2 * digest_block - 1}) {
        bytes[changed] ^= std::byte{1};
        const auto after = digests_of(bytes);
        EXPECT_EQ(after[0], before[0]);
        EXPECT_NE(after[1], before[1]) << changed;
        EXPECT_EQ(after[2], before[2]);
        bytes[changed] ^= std::byte{1};
    }
}

TEST(BlockDigest, OfZerosIsKnown) {
    const std::vector<std::byte> zeros(digest_block);
    EXPECT_EQ(digest_of_zeros, expected(zeros));
}

TEST(BlockDigest, OfNothingThereIsNone) { EXPECT_EQ(digest_count(0), 0U); }

} // namespace
} // namespace rpmem::wire
