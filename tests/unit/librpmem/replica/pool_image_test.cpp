// SPDX-License-Identifier: BSD-3-Clause
// Tests what counts as the memory of a whole pool of libpmemobj, and the map of blocks. The tests
// fail if memory without a valid header is taken for a pool, which could then be sent over a good
// replica, or if a mark is lost.
#include "librpmem/replica/block_map.hpp"
#include "librpmem/replica/load_words.hpp"
#include "librpmem/replica/pool_image.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "tests/support/expect.hpp"

#include <thread>

namespace rpmem::initiator {
namespace {

// The first bytes of a pool, as the daemon writes headers.
std::vector<std::byte> pool_with(const char* signature, std::uint32_t major,
                                 std::uint32_t incompat_features = 0) {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, signature, std::strlen(signature));
    attributes.major = major;
    attributes.incompat_features = incompat_features;
    attributes.poolset_uuid[0] = 42;
    const target::Uuid uuid = target::random_uuid();
    const auto headers = target::build_headers(attributes, {&uuid, 1}, 1);
    std::vector<std::byte> memory(8192);
    std::memcpy(memory.data(), headers.data(), sizeof(headers[0]));
    const std::uint64_t run_id = 12;
    std::memcpy(memory.data() + place_of_run_id, &run_id, sizeof(run_id));
    return memory;
}

TEST(PoolImage, IsThatOfLibpmemobj) {
    for (const std::uint32_t features : {0U, target::feature::incompat_checksum_2k}) {
        const auto image = pool_image(pool_with("PMEMOBJ", 6, features));
        ASSERT_TRUE(image);
        EXPECT_EQ(image->poolset_uuid[0], 42);
        EXPECT_EQ(image->run_id, 12U);
    }
}

TEST(PoolImage, OtherMemoryIsNone) {
    EXPECT_FALSE(pool_image(pool_with("PMEMBLK", 6)));
    EXPECT_FALSE(pool_image(pool_with("PMEMOBJ", 7)));
    EXPECT_FALSE(pool_image(std::vector<std::byte>(8192)));
    const auto pool = pool_with("PMEMOBJ", 6);
    EXPECT_FALSE(pool_image(std::span(pool).first(place_of_run_id + 7)));
    for (const std::size_t place : {std::size_t{24}, std::size_t{120}, std::size_t{4088}}) {
        auto damaged = pool;
        damaged[place] ^= std::byte{1};
        EXPECT_FALSE(pool_image(damaged)) << place;
    }
}

std::vector<std::size_t> marked(const BlockMap& map) {
    std::vector<std::size_t> blocks;
    for (std::size_t block = map.next(0); block < map.blocks(); block = map.next(block + 1))
        blocks.push_back(block);
    return blocks;
}

TEST(BlockMap, MarksEachBlockThatARangeTouches) {
    constexpr std::size_t block = wire::digest_block;
    BlockMap map(200 * block + 1);
    EXPECT_EQ(map.blocks(), 201U);
    EXPECT_EQ(map.next(0), 201U);
    map.mark(block - 1, 1);
    map.mark(62 * block + 5, 2 * block);
    map.mark(200 * block, 1);
    EXPECT_EQ(marked(map), (std::vector<std::size_t>{0, 62, 63, 64, 200}));
    EXPECT_EQ(map.count(), 5U);
    map.clear(63);
    map.clear(0);
    EXPECT_EQ(marked(map), (std::vector<std::size_t>{62, 64, 200}));
}

// With a test of the bit before it is set, or a store instead of a fetch_or, marks of other threads
// are lost.
TEST(BlockMap, MarksOfSeveralThreadsAreKept) {
    constexpr std::size_t blocks = 64;
    BlockMap map(blocks * wire::digest_block);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::thread> threads;
        for (std::size_t first = 0; first < 4; ++first)
            threads.emplace_back([&map, first] {
                for (std::size_t block = first; block < blocks; block += 4)
                    map.mark(block * wire::digest_block, 1);
            });
        for (std::thread& thread : threads)
            thread.join();
        ASSERT_EQ(map.count(), blocks);
        for (std::size_t block = 0; block < blocks; ++block)
            map.clear(block);
    }
}

TEST(LoadWords, CopiesEachByte) {
    std::vector<std::byte> source(8 * 5 + 3);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i + 1);
    std::vector<std::byte> copy(source.size());
    load_words(copy.data(), source);
    EXPECT_EQ(copy, source);
}

} // namespace
} // namespace rpmem::initiator
