// SPDX-License-Identifier: BSD-3-Clause
// Tests open_pool() and set_attributes() on real files with headers from tests/data/headers. The
// test fails if such a pool does not open or is mapped wrongly, if a damaged, foreign or incomplete
// pool opens, if new attributes do not reach every header, or if a failure leaves a descriptor
// open.
#include "tests/support/thoroughness.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

class OpenPool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n");
        pool_set("two.set", "2M @/part0\n3M @/part1\n");
        pool_set("single.set", "OPTION SINGLEHDR\n2M @/part0\n3M @/part1\n");
        pool_set("none.set", "OPTION NOHDRS\n2M @/part0\n3M @/part1\n");
    }
};

TEST_F(OpenPool, PoolsMadeByOthersOpen) {
    for (const auto* name :
         {"attr-default-part0", "attr-sds-part0", "attr-after-setattr-part0", "default-local.part0",
          "default-remote.part0", "twoparts-local.part0"}) {
        make_part("part0", 2 * MiB, golden(name));
        const auto pool = value_of(open("pool.set", 2 * MiB));
        const auto expected = attributes_of(header_of(golden(name)));
        EXPECT_TRUE(same_attributes(pool.attributes(), expected)) << name;
        EXPECT_EQ(std::memcmp(pool.address(), golden(name).data(), 2048), 0) << name;
    }
}

TEST_F(OpenPool, PoolsOfTwoPartsMadeByOthersOpen) {
    for (const std::string name : {"attr-twoparts-part", "twoparts-remote.part"}) {
        make_part("part0", 2 * MiB, golden(name + "0") + "first");
        make_part("part1", 3 * MiB, golden(name + "1") + "second");
        const auto pool = value_of(open("two.set", 5 * MiB - 4096));
        EXPECT_EQ(pool.size(), 5 * MiB - 4096);
        EXPECT_EQ(std::memcmp(pool.address() + 4096, "first", 5), 0);
        EXPECT_EQ(std::memcmp(pool.address() + 2 * MiB, "second", 6), 0);
    }
}

TEST_F(OpenPool, SingleHeaderPoolsMadeByOthersOpen) {
    for (const auto* name : {"attr-singlehdr-part0", "singlehdr-remote.part0"}) {
        make_part("part0", 2 * MiB, golden(name));
        make_part("part1", 3 * MiB, "second");
        const auto pool = value_of(open("single.set", 5 * MiB));
        EXPECT_EQ(pool.size(), 5 * MiB);
        EXPECT_EQ(std::memcmp(pool.address() + 2 * MiB, "second", 6), 0);
    }
}

TEST_F(OpenPool, WithoutHeadersThereAreNoAttributes) {
    make_part("part0", 2 * MiB, "data");
    make_part("part1", 3 * MiB);
    const auto pool = value_of(open("none.set", 5 * MiB));
    EXPECT_TRUE(is_all_zero(pool.attributes()));
    EXPECT_FALSE(pool.has_headers());
    EXPECT_EQ(std::memcmp(pool.address(), "data", 4), 0);
}

TEST_F(OpenPool, OpeningWithoutShutdownStateWritesNothing) {
    make_part("part0", 2 * MiB, golden("attr-default-part0"));
    const auto before = read_file(part("part0"));
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(read_file(part("part0")), before);
}

TEST_F(OpenPool, WhatIsMissingIsMissing) {
    EXPECT_TRUE(failed(open("no.set"), ENOENT, "no.set"));
    EXPECT_TRUE(failed(open(), ENOENT, "part0"));
    make_part("part0", 2 * MiB, golden("attr-twoparts-part0"));
    EXPECT_TRUE(failed(open("two.set"), ENOENT, "part1"));
    EXPECT_FALSE(has("part1"));
}

TEST_F(OpenPool, ATooLargeRequestIsRefused) {
    make_part("part0", 2 * MiB, golden("attr-default-part0"));
    EXPECT_TRUE(succeeded(open("pool.set", 2 * MiB)));
    EXPECT_TRUE(failed(open("pool.set", 2 * MiB + 1), EFBIG));
}

TEST_F(OpenPool, PartsMustHaveTheirSize) {
    make_part("part0", 2 * MiB + 4096, golden("attr-default-part0"));
    EXPECT_TRUE(failed(open(), EINVAL, "pool set file says 2097152"));
    make_part("part0", 100, golden("attr-default-part0").substr(0, 100));
    EXPECT_TRUE(failed(open(), EINVAL));
}

TEST_F(OpenPool, EveryCoveredByteThatIsFlippedIsRefused) {
    auto bytes = golden("default-remote.part0");
    make_part("part0", 2 * MiB, bytes);
    std::fstream file(part("part0"), std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::size_t offset, char value) {
        file.seekp(static_cast<std::streamoff>(offset)).put(value).flush();
    };
    for (std::size_t i = 0; i < header_size; i += every_case) {
        put(i, static_cast<char>(bytes[i] ^ 0x01));
        const bool covered = i < 2048 || i >= offsetof(PoolHeader, checksum);
        if (covered) {
            EXPECT_TRUE(failed(open(), EINVAL, "corrupted")) << "byte " << i;
        } else if (i < offsetof(PoolHeader, shutdown_state)) {
            EXPECT_TRUE(succeeded(open())) << "byte " << i;
        }
        put(i, bytes[i]);
    }
    EXPECT_TRUE(succeeded(open()));
}

TEST_F(OpenPool, PartsOfAnotherPoolAreRefused) {
    make_part("part0", 2 * MiB, golden("attr-twoparts-part0"));
    make_part("part1", 3 * MiB, golden("twoparts-remote.part1"));
    EXPECT_TRUE(failed(open("two.set"), EINVAL, "differ"));
    make_part("part1", 3 * MiB);
    EXPECT_TRUE(failed(open("two.set"), EINVAL, "no pool header"));
    make_part("part0", 2 * MiB);
    EXPECT_TRUE(failed(open(), EINVAL, "no pool header"));
    make_part("part0", 2 * MiB, golden("attr-twoparts-part0"));
    EXPECT_TRUE(failed(open(), EINVAL, "does not follow")) << "one part of two";
}

TEST_F(OpenPool, TheOptionMustMatchTheHeader) {
    make_part("part0", 2 * MiB, golden("attr-singlehdr-part0"));
    EXPECT_TRUE(failed(open(), EINVAL, "SINGLEHDR"));
    make_part("part0", 2 * MiB, golden("attr-default-part0"));
    make_part("part1", 3 * MiB);
    EXPECT_TRUE(failed(open("single.set"), EINVAL, "SINGLEHDR"));
}

TEST_F(OpenPool, SetAttributesEqualsTheGoldenHeader) {
    const auto expected = golden("attr-after-setattr-part0");
    make_part("part0", 2 * MiB, golden("attr-default-part0"));
    auto pool = value_of(open());
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(2, 0x80))));
    EXPECT_EQ(read_file(part("part0")).substr(0, header_size), expected);
    EXPECT_EQ(std::memcmp(pool.address(), expected.data(), header_size), 0);
    EXPECT_TRUE(same_attributes(pool.attributes(), golden_attributes(2, 0x80)));
    ASSERT_TRUE(succeeded(pool.close()));
    const auto again = value_of(open());
    EXPECT_TRUE(same_attributes(again.attributes(), golden_attributes(2, 0x80)));
}

TEST_F(OpenPool, SetAttributesReachesEveryPart) {
    auto pool = value_of(create("two.set"));
    const auto uuid = header_of(read_file(part("part1"))).uuid;
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(2, 0x80))));
    ASSERT_TRUE(succeeded(pool.close()));
    const auto second = header_of(read_file(part("part1")));
    EXPECT_EQ(second.signature[7], '2');
    EXPECT_EQ(second.uuid, uuid);
    EXPECT_EQ(second.previous_part_uuid[0], 0x90);
    const auto again = value_of(open("two.set"));
    EXPECT_TRUE(same_attributes(again.attributes(), golden_attributes(2, 0x80)));
}

TEST_F(OpenPool, UnsuitableAttributesChangeNothing) {
    make_part("part0", 2 * MiB, golden("attr-default-part0"));
    auto pool = value_of(open());
    EXPECT_TRUE(failed(pool.set_attributes({}), EINVAL));
    EXPECT_TRUE(failed(pool.set_attributes(golden_attributes(3)), EINVAL, "SINGLEHDR"));
    EXPECT_TRUE(same_attributes(pool.attributes(), golden_attributes(2)));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(read_file(part("part0")).substr(0, header_size), golden("attr-default-part0"));
}

TEST_F(OpenPool, WithoutHeadersOnlyNoAttributesCanBeSet) {
    make_part("part0", 2 * MiB, "data");
    make_part("part1", 3 * MiB);
    auto pool = value_of(open("none.set"));
    EXPECT_TRUE(failed(pool.set_attributes(golden_attributes(2)), EINVAL, "NOHDRS"));
    EXPECT_TRUE(succeeded(pool.set_attributes({})));
    EXPECT_EQ(read_file(part("part0")).substr(0, 4), "data");
}

TEST_F(OpenPool, FailuresLeaveNoDescriptorOpen) {
    const auto count = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    make_part("part0", 2 * MiB, golden("attr-twoparts-part0"));
    make_part("part1", 3 * MiB);
    const auto before = count();
    EXPECT_TRUE(failed(open("two.set"), EINVAL));
    EXPECT_TRUE(failed(open(), EINVAL));
    EXPECT_TRUE(failed(open("none.set", 100 * MiB), EFBIG));
    EXPECT_TRUE(failed(create("two.set"), EEXIST));
    EXPECT_EQ(count(), before);
}

} // namespace
} // namespace rpmem::target
