// SPDX-License-Identifier: BSD-3-Clause
// Tests the digests of chunks and their comparison, with pools in memory that count what is read.
// The digest of a whole pool is compared with what XXH3 returns for its bytes in one piece. The
// test fails if a digest depends on how ranges are divided, if a header, a hole or excluded bytes
// are treated wrongly, if a differing chunk is missed, or if malformed or hostile digests of a
// target are accepted.
#include "tests/support/expect.hpp"
#include "tools/compare/digests.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

namespace rpmem::compare {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

// A pool in memory, which counts the bytes that are read.
struct MemoryPool {
    explicit MemoryPool(std::size_t size) : data(size) {}
    [[nodiscard]] PoolBytes bytes() {
        return {
            .read = [this](std::uint64_t offset, std::span<std::byte> buffer) -> Result<> {
                if (offset + buffer.size() > data.size())
                    return fail(ErrorClass::bug, ERANGE, "beyond the end");
                std::memcpy(buffer.data(), data.data() + offset, buffer.size());
                read_bytes += buffer.size();
                return {};
            },
            .is_hole =
                [this](Range range) { return range.begin >= hole.begin && range.end <= hole.end; },
            .size = data.size()};
    }
    [[nodiscard]] std::string digest(const Ranges& ranges) {
        return test::value_of(digest_of(bytes(), ranges));
    }
    void fill() {
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = static_cast<std::byte>(i * 7 + i / 4096);
    }

    std::vector<std::byte> data;
    Range hole{0, 0};
    std::atomic<std::uint64_t> read_bytes = 0;
};

PoolDigests plain(std::uint64_t size, std::uint64_t chunk, std::uint64_t first = 0) {
    PoolDigests digests{.size = size, .first = first, .length = size, .chunk = chunk};
    digests.digests.resize((size - 1) / chunk + 1, std::string(32, 'a'));
    return digests;
}

TEST(Digest, IsXxh3OfAllRangesInTurn) {
    MemoryPool pool(3 * mebibyte + 5);
    EXPECT_EQ(pool.digest({}), "99aa06d3014798d86001c324468d497f"); // no data; published by xxHash
    pool.fill();
    const std::string whole = pool.digest({{0, pool.data.size()}});
    const XXH128_hash_t hash = XXH3_128bits(pool.data.data(), pool.data.size());
    EXPECT_EQ(whole, fmt::format("{:016x}{:016x}", hash.high64, hash.low64));
    // The digest does not depend on the sizes of the ranges.
    EXPECT_EQ(pool.digest({{0, 1}, {1, mebibyte + 1}, {mebibyte + 1, pool.data.size()}}), whole);
    EXPECT_NE(pool.digest({{0, pool.data.size() - 1}}), whole);
    EXPECT_NE(pool.digest({{1, pool.data.size()}}), whole);
    pool.data.back() ^= std::byte{1};
    EXPECT_NE(pool.digest({{0, pool.data.size()}}), whole);
}

TEST(Digest, OfZerosIsThatOfAHole) {
    MemoryPool zeros(2 * mebibyte + 4097);
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, mebibyte, mebibyte + 1,
                                     std::uint64_t{zeros.data.size()}})
        EXPECT_EQ(digest_of_zeros(size), zeros.digest({{0, size}})) << size;
}

TEST(Digest, FailsWhereThePoolCannotBeRead) {
    MemoryPool pool(4096);
    EXPECT_TRUE(test::failed(digest_of(pool.bytes(), {{0, 4097}}), ERANGE, "beyond"));
}

TEST(Chunks, BeginBehindTheHeaderAndEndWithThePool) {
    PoolDigests pool = plain(20480, 8192, 4096);
    EXPECT_EQ(pool.range(0), (Range{4096, 8192}));
    EXPECT_EQ(pool.range(1), (Range{8192, 16384}));
    EXPECT_EQ(pool.range(2), (Range{16384, 20480}));
    EXPECT_EQ(pool.compared(), 16384U);
    pool.excluded = {{0, 5000}, {16000, 17000}};
    EXPECT_EQ(pool.compared(), 20480U - 5000 - 1000);
    pool = plain(8192, 4096, 4096);
    EXPECT_EQ(pool.range(0).size(), 0U); // the header covers chunk 0
    EXPECT_EQ(pool.range(1), (Range{4096, 8192}));
    pool.length = 100;
    EXPECT_EQ(pool.range(0).size(), 0U);
    EXPECT_EQ(pool.compared(), 0U);
}

TEST(DigestsOfATarget, AreCheckedBeforeTheyAreUsed) {
    const PoolDigests good = plain(64 * mebibyte, mebibyte, 4096);
    EXPECT_TRUE(test::succeeded(check(good)));
    EXPECT_TRUE(test::succeeded(check(plain(64 * mebibyte, mebibyte, 0))));
    const auto refused = [&](auto change) {
        PoolDigests bad = good;
        change(bad);
        return test::failed(check(bad), EPROTO, "malformed");
    };
    EXPECT_TRUE(refused([](auto& d) { d.size += 1; }));
    EXPECT_TRUE(refused([](auto& d) { d.length = d.size + 1; }));
    EXPECT_TRUE(refused([](auto& d) { d.size -= 4096; })); // smaller than the length with digests
    EXPECT_TRUE(refused([](auto& d) { d.length = 0; }));
    EXPECT_TRUE(refused([](auto& d) { d.chunk = 0; }));
    EXPECT_TRUE(refused([](auto& d) { d.chunk += 1; }));
    EXPECT_TRUE(refused([](auto& d) { d.first = 1; }));
    EXPECT_TRUE(refused([](auto& d) { d.first = 8192; }));
    EXPECT_TRUE(refused([](auto& d) { d.digests.pop_back(); }));
    EXPECT_TRUE(refused([](auto& d) { d.digests.push_back(d.digests.back()); }));
    EXPECT_TRUE(refused([](auto& d) { d.digests.back().pop_back(); }));
    EXPECT_TRUE(refused([](auto& d) { d.digests.front() += '0'; }));
    EXPECT_TRUE(refused([](auto& d) { d.digests.clear(); }));
    PoolDigests small = plain(8192, 8192);
    EXPECT_TRUE(test::succeeded(check(small)));
    small.chunk += 1; // not a multiple of a page; the number of digests is right
    EXPECT_FALSE(check(small));
    // A shorter last chunk has a digest as well.
    PoolDigests odd = good;
    odd.length -= 1;
    EXPECT_TRUE(test::succeeded(check(odd)));
    odd.length = 63 * mebibyte + 1;
    EXPECT_TRUE(test::succeeded(check(odd)));
    odd.length = 63 * mebibyte;
    EXPECT_FALSE(check(odd));
}

TEST(DigestsOfATarget, KeepThisProgramFromHashingForYears) {
    const std::uint64_t largest = std::uint64_t{1} << 47;
    PoolDigests pool = plain(largest, std::uint64_t{1} << 33);
    EXPECT_TRUE(test::succeeded(check(pool)));
    EXPECT_FALSE(check(plain(largest + 4096, std::uint64_t{1} << 33)));
    // A chunk has at most 1/1024 of the pool, rounded up. A pool has at most 65536 chunks.
    EXPECT_TRUE(test::succeeded(check(plain(1024 * mebibyte, 2 * mebibyte))));
    EXPECT_FALSE(check(plain(1024 * mebibyte, 4 * mebibyte)));
    EXPECT_TRUE(test::succeeded(check(plain(65536 * std::uint64_t{4096}, 4096))));
    EXPECT_FALSE(check(plain(65537 * std::uint64_t{4096}, 4096)));
}

TEST(Differences, AreTheChunksWhoseDigestsDiffer) {
    MemoryPool pool(5 * mebibyte / 2);
    pool.fill();
    PoolDigests target = plain(pool.data.size(), mebibyte, 4096);
    for (std::size_t i = 0; i < target.digests.size(); ++i)
        target.digests[i] = pool.digest({target.range(i)});
    std::atomic<std::uint64_t> done = 0;
    const auto differing = [&](unsigned threads) {
        done = 0;
        return test::value_of(differing_chunks(pool.bytes(), target, threads,
                                               [&](std::uint64_t bytes) { done += bytes; }));
    };
    using Chunks = std::vector<std::size_t>;
    for (const unsigned threads : {1U, 2U, 8U}) {
        EXPECT_EQ(differing(threads), Chunks{}) << threads;
        EXPECT_EQ(done, pool.data.size() - 4096);
    }
    pool.data[100] ^= std::byte{1}; // in the header, which differs in every replica
    EXPECT_EQ(differing(2), Chunks{});
    for (const std::size_t place : {std::size_t{4096}, std::size_t{mebibyte - 1}}) {
        pool.data[place] ^= std::byte{1};
        EXPECT_EQ(differing(2), Chunks{0}) << place;
        pool.data[place] ^= std::byte{1};
    }
    pool.data.back() ^= std::byte{1};
    pool.data[mebibyte] ^= std::byte{1};
    EXPECT_EQ(differing(2), (Chunks{1, 2}));
    // Excluded bytes may differ, because they are never replicated.
    target.excluded = {{mebibyte, mebibyte + 1}};
    target.digests[1] = pool.digest(without(target.range(1), target.excluded));
    pool.data[mebibyte] ^= std::byte{2};
    EXPECT_EQ(differing(2), Chunks{2});
}

TEST(Differences, OfAHoleAreFoundWithoutReading) {
    MemoryPool pool(2 * mebibyte);
    pool.hole = {0, 2 * mebibyte};
    PoolDigests target = plain(pool.data.size(), mebibyte, 4096);
    target.excluded = {{mebibyte + 10, mebibyte + 20}};
    target.digests = {digest_of_zeros(mebibyte - 4096), digest_of_zeros(mebibyte - 10)};
    const auto none = [](std::uint64_t) {};
    EXPECT_TRUE(test::value_of(differing_chunks(pool.bytes(), target, 1, none)).empty());
    target.digests[1] = digest_of_zeros(mebibyte);
    EXPECT_EQ(test::value_of(differing_chunks(pool.bytes(), target, 1, none)),
              std::vector<std::size_t>{1});
    EXPECT_EQ(pool.read_bytes, 0U);
}

TEST(Differences, OfAPoolThatCannotBeReadAreAnError) {
    MemoryPool pool(mebibyte);
    const PoolDigests target = plain(2 * mebibyte, mebibyte);
    EXPECT_TRUE(
        test::failed(differing_chunks(pool.bytes(), target, 2, [](std::uint64_t) {}), ERANGE, ""));
}

TEST(Threads, DoEachPieceOnce) {
    for (const unsigned threads : {1U, 3U, 64U}) {
        std::mutex mutex;
        std::multiset<std::size_t> seen;
        std::set<unsigned> numbers;
        EXPECT_TRUE(test::succeeded(in_threads(threads, 10, [&](unsigned thread, std::size_t i) {
            const std::lock_guard lock(mutex);
            seen.insert(i);
            numbers.insert(thread);
            return Result<>();
        })));
        EXPECT_EQ(seen, (std::multiset<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << threads;
        EXPECT_LT(*numbers.rbegin(), std::min(threads, 10U));
    }
    EXPECT_TRUE(test::succeeded(
        in_threads(4, 0, [](unsigned, std::size_t) { return Result<>(invalid("called")); })));
}

TEST(Threads, EndWithTheFirstFailure) {
    std::atomic<unsigned> calls = 0;
    const auto outcome = in_threads(1, 1000, [&](unsigned, std::size_t i) -> Result<> {
        ++calls;
        return i == 3 ? Result<>(fail(ErrorClass::bug, EIO, "the fourth")) : Result<>();
    });
    EXPECT_TRUE(test::failed(outcome, EIO, "the fourth"));
    EXPECT_EQ(calls, 4U);
    EXPECT_TRUE(test::failed(in_threads(2, 5,
                                        [](unsigned, std::size_t) -> Result<> {
                                            throw std::runtime_error("out of something");
                                        }),
                             ENOMEM, "out of something"));
}

} // namespace
} // namespace rpmem::compare
