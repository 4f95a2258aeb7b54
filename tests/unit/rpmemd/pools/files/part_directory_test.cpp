// SPDX-License-Identifier: BSD-3-Clause
// Tests pools whose pool set names directories, with real files. The test fails if part files have
// the wrong name, size or place, if a pool does not grow or grows although it is invalid, if an
// incomplete or oversized set of files is used, or if a file of others is removed.
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/pools/files/part_directory.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

class DirectoryPool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        fs::create_directory(part("one"));
        fs::create_directory(part("two"));
        pool_set("pool.set", "OPTION SINGLEHDR\n4M @/one\n8M @/two\n");
    }
    [[nodiscard]] std::size_t size_of(const std::string& name) const {
        std::error_code error;
        const auto size = fs::file_size(part(name), error);
        return error ? 0 : size;
    }
};

TEST_F(DirectoryPool, FilesAreMadeAsNeeded) {
    auto pool = value_of(create("pool.set", 3 * MiB + 1, golden_attributes(3)));
    EXPECT_EQ(pool.size(), 3 * MiB + 4096);
    EXPECT_EQ(size_of("one/000000.pmem"), 3 * MiB + 4096);
    EXPECT_TRUE(fs::is_empty(part("two")));
    std::memcpy(pool.address() + pool.size() - 4, "last", 4);
    ASSERT_TRUE(succeeded(pool.close()));
    const auto bytes = read_file(part("one/000000.pmem"));
    EXPECT_EQ(bytes.substr(0, 8), "GOLDEN_1");
    EXPECT_EQ(bytes.substr(bytes.size() - 4), "last");
    const auto again = value_of(open("pool.set", 3 * MiB));
    EXPECT_EQ(again.size(), 3 * MiB + 4096);
}

TEST_F(DirectoryPool, AFullDirectoryIsFollowedByTheNext) {
    auto pool = value_of(create("pool.set", 12 * MiB, golden_attributes(3)));
    EXPECT_EQ(size_of("one/000000.pmem"), 4 * MiB);
    EXPECT_EQ(size_of("two/000001.pmem"), 8 * MiB);
    std::memcpy(pool.address() + 4 * MiB, "second", 6);
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(read_file(part("two/000001.pmem")).substr(0, 6), "second");
}

// Shared locks of one file do not exclude each other.
TEST_F(DirectoryPool, OneFileUnderTwoNamesIsRefused) {
    ASSERT_TRUE(succeeded(create("pool.set", 12 * MiB, golden_attributes(3))));
    ASSERT_TRUE(fs::remove(part("two/000001.pmem")));
    fs::create_hard_link(part("one/000000.pmem"), part("two/000001.pmem"));
    for (const bool read_only : {true, false}) {
        options.read_only = read_only;
        EXPECT_TRUE(failed(open(), EINVAL, "000001.pmem of the pool set are one file"));
    }
    const auto facts = value_of(examine_pool(options, "pool.set"));
    EXPECT_TRUE(test::contains(facts.parts.at(1).problem, "are one file"));
}

TEST_F(DirectoryPool, OpeningALargerPoolGrowsIt) {
    auto pool = create("pool.set", 2 * MiB, golden_attributes(3));
    ASSERT_TRUE(succeeded(pool));
    std::memcpy(pool->address() + 4096, "kept", 4);
    ASSERT_TRUE(succeeded(pool->close()));
    pool = open("pool.set", 5 * MiB);
    ASSERT_TRUE(succeeded(pool));
    EXPECT_EQ(pool->size(), 5 * MiB);
    EXPECT_EQ(size_of("one/000000.pmem"), 2 * MiB);
    EXPECT_EQ(size_of("two/000001.pmem"), 3 * MiB);
    EXPECT_EQ(std::memcmp(pool->address() + 4096, "kept", 4), 0);
    ASSERT_TRUE(succeeded(pool->close()));
    EXPECT_TRUE(failed(open("pool.set", 13 * MiB), EFBIG));
    EXPECT_FALSE(has("one/000002.pmem"));
}

TEST_F(DirectoryPool, AnUnsoundPoolDoesNotGrow) {
    make_part("one/000000.pmem", 2 * MiB, golden("attr-default-part0"));
    EXPECT_TRUE(failed(open("pool.set", 5 * MiB), EINVAL, "SINGLEHDR"));
    EXPECT_TRUE(fs::is_empty(part("two")));
}

TEST_F(DirectoryPool, MoreThanTheDirectoriesMayHoldIsRefused) {
    EXPECT_TRUE(failed(create("pool.set", 12 * MiB + 1, golden_attributes(3)), EFBIG));
    EXPECT_TRUE(fs::is_empty(part("one")));
    EXPECT_TRUE(fs::is_empty(part("two")));
}

TEST_F(DirectoryPool, AnExistingPoolIsLeftAlone) {
    auto pool = value_of(create("pool.set", 0, golden_attributes(3)));
    EXPECT_TRUE(failed(create("pool.set", 0, golden_attributes(3)), EBUSY));
    EXPECT_TRUE(failed(open(), EBUSY));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_TRUE(failed(create("pool.set", 0, golden_attributes(3)), EEXIST));
    EXPECT_EQ(size_of("one/000000.pmem"), 2 * MiB);
}

TEST_F(DirectoryPool, FilesMustBeComplete) {
    EXPECT_TRUE(failed(open(), ENOENT));
    ASSERT_TRUE(succeeded(create("pool.set", 12 * MiB, golden_attributes(3))));
    fs::copy_file(part("two/000001.pmem"), part("two/000003.pmem"));
    pool_set("pool.set", "OPTION SINGLEHDR\n4M @/one\n80M @/two\n");
    EXPECT_TRUE(failed(open(), ENOENT, "000002.pmem"));
    fs::rename(part("two/000003.pmem"), part("one/000001.pmem"));
    pool_set("pool.set", "OPTION SINGLEHDR\n40M @/one\n80M @/two\n");
    EXPECT_TRUE(failed(open(), EINVAL, "same number"));
    fs::remove(part("one/000001.pmem"));
    pool_set("pool.set", "OPTION SINGLEHDR\n4M @/one\n7M @/two\n");
    EXPECT_TRUE(failed(open(), EINVAL, "allows"));
}

TEST_F(DirectoryPool, FilesOfOthersAreIgnored) {
    write_file(part("one/notes.txt"), "keep");
    write_file(part("one/0000000.pmem"), "seven digits");
    write_file(part("one/00000x.pmem"), "no number");
    ASSERT_TRUE(succeeded(create("pool.set", 2 * MiB, golden_attributes(3))));
    ASSERT_TRUE(succeeded(open()));
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(has("one/000000.pmem"));
    EXPECT_EQ(read_file(part("one/notes.txt")), "keep");
    EXPECT_TRUE(has("one/0000000.pmem"));
    EXPECT_TRUE(failed(remove(), ENOENT));
}

TEST_F(DirectoryPool, MixturesAndMissingOptionsAreRefused) {
    pool_set("mixed.set", "OPTION SINGLEHDR\n4M @/one\n4M @/file\n");
    pool_set("plain.set", "4M @/one\n");
    pool_set("none.set", "OPTION NOHDRS\n4M @/one\n");
    pool_set("auto.set", "OPTION SINGLEHDR\nAUTO @/one\n");
    EXPECT_TRUE(failed(create("mixed.set", 0, golden_attributes(3)), EINVAL, "mixes"));
    EXPECT_TRUE(failed(create("plain.set"), EINVAL, "SINGLEHDR"));
    EXPECT_TRUE(failed(create("none.set", 0, {}), EINVAL, "SINGLEHDR"));
    EXPECT_TRUE(failed(create("auto.set", 0, golden_attributes(3)), EINVAL, "AUTO"));
    EXPECT_FALSE(has("file"));
}

TEST_F(DirectoryPool, PlansAreEvenAndBounded) {
    const auto parsed = [&](const std::string& size) {
        return parse_pool_set(fmt::format("PMEMPOOLSET\nOPTION SINGLEHDR\n{0} {1}/one\n{0} {1}/two",
                                          size, root.native()),
                              "s");
    };
    const auto set = parsed("1G");
    const auto plan = value_of(PartDirectories::scan(*set)->plan(300 * MiB));
    ASSERT_EQ(plan.size(), 3U);
    EXPECT_EQ(plan[0].path, part("one/000000.pmem"));
    EXPECT_EQ(plan[0].size, 128 * MiB);
    EXPECT_EQ(plan[1].path, part("two/000001.pmem"));
    EXPECT_EQ(plan[2].path, part("one/000002.pmem"));
    EXPECT_EQ(plan[2].size, 44 * MiB);

    const auto huge_set = parsed("1024T");
    const auto huge = value_of(PartDirectories::scan(*huge_set)->plan(std::uint64_t{1} << 51));
    EXPECT_LE(huge.size(), 257U);
    EXPECT_TRUE(
        failed(PartDirectories::scan(*huge_set)->plan((std::uint64_t{1} << 51) + 1), EFBIG));
    EXPECT_TRUE(failed(PartDirectories::scan(*huge_set)->plan(UINT64_MAX), EFBIG));
}

} // namespace
} // namespace rpmem::target
