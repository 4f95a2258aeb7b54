// SPDX-License-Identifier: BSD-3-Clause
// Tests create_pool() on real files. The headers are compared with those in tests/data/headers. The
// test fails if a header differs, if data are stored in the wrong part, if a failed create leaves a
// part or changes an existing one, if an unsuitable part is used, or if space is not allocated.
#include "rpmemd/pools/files/part_creation.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

// Returns the header BYTES with the creation time of OTHER and a valid checksum.
std::string with_time_of(const std::string& bytes, const std::string& other) {
    auto header = header_of(bytes);
    header.creation_time = header_of(other).creation_time;
    seal(header);
    return bytes_of(header);
}

void expect_zero_after_header(const std::string& bytes, std::size_t size) {
    ASSERT_EQ(bytes.size(), size);
    EXPECT_EQ(bytes.find_first_not_of('\0', header_size), std::string::npos);
}

class CreatePool : public PoolFixture {
protected:
    // Creates and closes a pool. Returns the first 4096 bytes of each part.
    std::vector<std::string> headers_after_create(const std::string& text, std::uint32_t incompat) {
        pool_set("pool.set", text);
        auto pool = create("pool.set", 2 * MiB, golden_attributes(incompat));
        EXPECT_TRUE(succeeded(pool));
        if (pool) {
            EXPECT_TRUE(succeeded(pool->close()));
        }
        std::vector<std::string> headers;
        for (const auto* name : {"part0", "part1"})
            if (has(name))
                headers.push_back(read_file(part(name)).substr(0, header_size));
        return headers;
    }
};

TEST_F(CreatePool, OnePartEqualsTheGoldenHeader) {
    const auto before = static_cast<std::uint64_t>(time(nullptr));
    const auto headers = headers_after_create("2M @/part0\n", 2);
    const auto after = static_cast<std::uint64_t>(time(nullptr));
    const auto expected = golden("attr-default-part0");
    ASSERT_EQ(headers.size(), 1U);
    EXPECT_EQ(with_time_of(headers[0], expected), expected);
    EXPECT_GE(header_of(headers[0]).creation_time, before);
    EXPECT_LE(header_of(headers[0]).creation_time, after);
    EXPECT_EQ(header_of(headers[0]).checksum, header_checksum(header_of(headers[0])));
    expect_zero_after_header(read_file(part("part0")), 2 * MiB);
}

TEST_F(CreatePool, ShutdownStateAndSingleHeaderEqualTheGoldenHeaders) {
    auto headers = headers_after_create("2M @/part0\n", 6);
    ASSERT_EQ(headers.size(), 1U);
    EXPECT_EQ(with_time_of(headers[0], golden("attr-sds-part0")), golden("attr-sds-part0"));
    fs::remove(part("part0"));
    headers = headers_after_create("OPTION SINGLEHDR\n2M @/part0\n2M @/part1\n", 3);
    const auto expected = golden("attr-singlehdr-part0");
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(with_time_of(headers[0], expected), expected);
    EXPECT_EQ(headers[1], golden("attr-singlehdr-part1"));
}

TEST_F(CreatePool, TwoPartsEqualTheGoldenHeadersButForTheFreshUuid) {
    const auto headers = headers_after_create("2M @/part0\n3M @/part1\n", 2);
    ASSERT_EQ(headers.size(), 2U);
    const auto fresh = header_of(headers[1]).uuid;
    EXPECT_NE(fresh, header_of(golden("attr-twoparts-part1")).uuid);

    auto first = header_of(golden("attr-twoparts-part0"));
    first.next_part_uuid = first.previous_part_uuid = fresh;
    EXPECT_EQ(with_time_of(headers[0], bytes_of(first)),
              with_time_of(bytes_of(first), bytes_of(first)));
    auto second = header_of(golden("attr-twoparts-part1"));
    second.uuid = fresh;
    EXPECT_EQ(with_time_of(headers[1], bytes_of(second)),
              with_time_of(bytes_of(second), bytes_of(second)));
}

TEST_F(CreatePool, UnknownFeaturesAreTaken) {
    const auto headers = headers_after_create("2M @/part0\n", 0x80000000);
    EXPECT_EQ(header_of(headers[0]).incompat_features, 0x80000000U);
    EXPECT_TRUE(succeeded(open()));
}

TEST_F(CreatePool, TellsWhatItMade) {
    pool_set("pool.set", "2M @/part0\n4M @/part1\n");
    auto pool = value_of(create("pool.set", 6 * MiB - 4096, golden_attributes(2)));
    EXPECT_EQ(pool.size(), 6 * MiB - 4096);
    EXPECT_TRUE(pool.has_headers());
    EXPECT_TRUE(same_attributes(pool.attributes(), golden_attributes(2)));
    EXPECT_EQ(std::memcmp(pool.address(), "GOLDEN_1", 8), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.address()) % (2 * MiB), 0U);
}

TEST_F(CreatePool, ContentsLandInTheirPart) {
    pool_set("pool.set", "2M @/part0\n2M @/part1\n2M @/part2\n");
    auto pool = value_of(create());
    std::memcpy(pool.address() + 4096, "after header", 12);
    std::memcpy(pool.address() + 2 * MiB - 4, "edgeedge", 8); // across two parts
    std::memcpy(pool.address() + 4 * MiB - 4096, "third", 5);
    std::memcpy(pool.address() + pool.size() - 4, "last", 4);
    ASSERT_TRUE(succeeded(pool.close()));
    const auto first = read_file(part("part0"));
    const auto second = read_file(part("part1"));
    const auto third = read_file(part("part2"));
    EXPECT_EQ(first.substr(4096, 12), "after header");
    EXPECT_EQ(first.substr(2 * MiB - 4), "edge");
    EXPECT_EQ(second.substr(0, 8), "GOLDEN_1");
    EXPECT_EQ(second.substr(4096, 4), "edge");
    EXPECT_EQ(third.substr(4096, 5), "third");
    EXPECT_EQ(third.substr(2 * MiB - 4), "last");
}

TEST_F(CreatePool, WithoutHeadersOffsetZeroIsData) {
    pool_set("pool.set", "OPTION NOHDRS\n2M @/part0\n2M @/part1\n");
    auto pool = value_of(create("pool.set", 4 * MiB, rpmem_pool_attr{}));
    EXPECT_FALSE(pool.has_headers());
    EXPECT_TRUE(same_attributes(pool.attributes(), rpmem_pool_attr{}));
    EXPECT_EQ(pool.size(), 4 * MiB);
    std::memset(pool.address(), 'Z', pool.size());
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(read_file(part("part0")), std::string(2 * MiB, 'Z'));
    EXPECT_EQ(read_file(part("part1")), std::string(2 * MiB, 'Z'));
    // Parts without headers may exist already, and keep their data.
    EXPECT_TRUE(succeeded(create("pool.set", 4 * MiB, rpmem_pool_attr{})));
    EXPECT_EQ(read_file(part("part1")), std::string(2 * MiB, 'Z'));
}

TEST_F(CreatePool, AttributesMustSuitThePoolSet) {
    pool_set("headers.set", "2M @/part0\n");
    pool_set("none.set", "OPTION NOHDRS\n2M @/part1\n");
    pool_set("single.set", "OPTION SINGLEHDR\n2M @/part2\n");
    EXPECT_TRUE(failed(create("headers.set", 0, {}), EINVAL, "needs attributes"));
    EXPECT_TRUE(failed(create("none.set"), EINVAL, "NOHDRS"));
    EXPECT_TRUE(failed(create("single.set"), EINVAL, "SINGLEHDR"));
    EXPECT_TRUE(failed(create("headers.set", 0, golden_attributes(3)), EINVAL, "SINGLEHDR"));
    for (const auto* name : {"part0", "part1", "part2"})
        EXPECT_FALSE(has(name)) << name;
}

TEST_F(CreatePool, AnExistingPoolIsLeftAlone) {
    pool_set("pool.set", "2M @/part0\n");
    ASSERT_TRUE(succeeded(create()));
    const auto before = read_file(part("part0"));
    EXPECT_TRUE(failed(create(), EEXIST));
    EXPECT_TRUE(failed(create("pool.set", 0, {}), EINVAL));
    EXPECT_EQ(read_file(part("part0")), before);
}

TEST_F(CreatePool, ExistingPartsNeedTheirSizeAndAnEmptyHeader) {
    pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    make_part("part1", 2 * MiB + 4096);
    EXPECT_TRUE(failed(create(), EEXIST, "pool set file says"));
    make_part("part1", 2 * MiB, std::string(4095, '\0') + "x");
    EXPECT_TRUE(failed(create(), EEXIST));
    EXPECT_FALSE(has("part0"));
    EXPECT_EQ(read_file(part("part1"))[4095], 'x');

    make_part("part1", 2 * MiB, std::string(4096, '\0') + "data");
    ASSERT_EQ(chmod(part("part1").c_str(), 0640), 0);
    EXPECT_TRUE(succeeded(create()));
    EXPECT_EQ(read_file(part("part1")).substr(0, 8), "GOLDEN_1");
    EXPECT_EQ(read_file(part("part1")).substr(4096, 4), "data");
    struct stat made {
    }, existing{};
    ASSERT_EQ(stat(part("part0").c_str(), &made), 0);
    ASSERT_EQ(stat(part("part1").c_str(), &existing), 0);
    EXPECT_EQ(made.st_mode & 07777, 0600U);
    EXPECT_EQ(existing.st_mode & 07777, 0640U);
    // All of both parts is allocated, so that no store fails because of a full disk.
    EXPECT_GE(made.st_blocks * 512, static_cast<long>(2 * MiB));
    EXPECT_GE(existing.st_blocks * 512, static_cast<long>(2 * MiB));
}

TEST_F(CreatePool, WhatCannotBeMadeLeavesNothing) {
    pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    EXPECT_TRUE(failed(create("pool.set", 4 * MiB, golden_attributes(2)), EFBIG));
    EXPECT_FALSE(has("part0") || has("part1"));
    pool_set("pool.set", "2M @/part0\n2M @/gone/part1\n");
    EXPECT_TRUE(failed(create(), ENOENT, "gone/part1"));
    EXPECT_FALSE(has("part0"));
}

TEST_F(CreatePool, APartThatDoesNotFitTakesTheOthersWithIt) {
    pool_set("pool.set", "2M @/part0\n2M @/part1\n4095P @/part2\n");
    make_part("part1", 2 * MiB);
    const auto pool = create();
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().code, ENOSPC); // EFBIG would mean that the pool is too small
    // This is noticed before the part takes space that others on the file system need.
    EXPECT_TRUE(test::contains(pool.error().text, "its file system has"));
    EXPECT_FALSE(has("part0"));
    EXPECT_FALSE(has("part2"));
    EXPECT_EQ(read_file(part("part1")), std::string(2 * MiB, '\0'));
}

// The existing part is a sparse file, so a store could later fail.
TEST_F(CreatePool, AnExistingPartThatCannotBeAllocatedIsRefused) {
    constexpr std::uint64_t more_than_is_left = std::uint64_t{4} << 40;
    if (fs::space(root).available >= more_than_is_left)
        GTEST_SKIP() << "there are 4 TiB left";
    pool_set("pool.set", "2M @/part0\n4T @/part1\n");
    make_part("part1", more_than_is_left);
    EXPECT_TRUE(failed(create(), ENOSPC, "part1"));
    EXPECT_FALSE(has("part0"));
    EXPECT_TRUE(has("part1"));
}

TEST_F(CreatePool, ADanglingLinkIsNotFollowed) {
    // The link can neither be opened nor replaced by a new file.
    pool_set("pool.set", "2M @/part0\n2M @/part1\n2M @/part2\n");
    make_part("part0", 2 * MiB);
    fs::create_symlink(root / "nowhere", part("part2"));
    EXPECT_TRUE(failed(create(), EEXIST));
    EXPECT_FALSE(has("part1"));
    EXPECT_FALSE(fs::exists(root / "nowhere"));
    EXPECT_EQ(read_file(part("part0")), std::string(2 * MiB, '\0'));
}

TEST_F(CreatePool, AFailureAfterTheHeadersWereWrittenClearsThem) {
    make_part("part0", 2 * MiB, std::string(4096, '\0') + "data");
    pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    const auto set =
        value_of(parse_pool_set(read_file(options.poolset_dir / "pool.set"), "pool.set"));
    {
        auto claimed = value_of(PendingParts::claim(set, 0));
        ASSERT_TRUE(succeeded(
            claimed.write_headers(build_headers(golden_attributes(2), std::vector<Uuid>(2), 0))));
        ASSERT_TRUE(succeeded(claimed.make_durable()));
        EXPECT_EQ(read_file(part("part0")).substr(0, 8), "GOLDEN_1");
        EXPECT_EQ(read_file(part("part1")).substr(0, 8), "GOLDEN_1");
    } // destroyed before keep()
    EXPECT_EQ(read_file(part("part0")).substr(0, 4100), std::string(4096, '\0') + "data");
    EXPECT_FALSE(has("part1"));
}

TEST_F(CreatePool, PartsOfOtherKindsAreRefused) {
    pool_set("device.set", "2M /dev/null\n");
    pool_set("auto.set", "AUTO @/part0\n");
    pool_set("auto-existing.set", "AUTO @/part1\n");
    make_part("part1", 2 * MiB);
    EXPECT_TRUE(failed(create("device.set"), EINVAL, "Device DAX"));
    EXPECT_TRUE(failed(create("auto.set"), EINVAL, "AUTO"));
    EXPECT_TRUE(failed(create("auto-existing.set"), EINVAL, "AUTO"));
    EXPECT_FALSE(has("part0"));
}

class PmemTest : public PoolFixture {};

TEST_F(PmemTest, AFileIsPersistentMemoryOnlyIfForced) {
    const char* forced = getenv("PMEM_IS_PMEM_FORCE");
    pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    const auto pool = value_of(create());
    EXPECT_EQ(pool.is_pmem(), forced != nullptr && std::string(forced) == "1");
}

// The session of a client that has disconnected must not wait until all parts are allocated.
TEST_F(CreatePool, StopsWhenNobodyWaitsForIt) {
    pool_set("pool.set", "2M @/part0\n200M @/part1\n");
    int asked = 0;
    options.cancelled = [&asked] { return ++asked == 3; }; // in the middle of the second part
    EXPECT_TRUE(failed(create("pool.set", 2 * MiB, golden_attributes(2)), ECANCELED));
    EXPECT_FALSE(has("part0") || has("part1"));
}

} // namespace
} // namespace rpmem::target
