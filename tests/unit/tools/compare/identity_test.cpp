// SPDX-License-Identifier: BSD-3-Clause
// Tests identity_in() on header pages that 1.12.1 wrote, changed in single bytes, and mismatches().
// The test fails if an end of the signature or of the UUID does not count, if a byte beside them
// counts, if a page that is not a header has an identity, or if a file of another pool or of
// another length counts as an image of the pool.
#include "tests/support/expect.hpp"
#include "tools/compare/identity.hpp"

#include <algorithm>

namespace rpmem::compare {
namespace {

std::vector<std::byte> golden(const std::string& name) {
    return test::bytes_of_text(test::read_file(HEADER_DATA_DIR "/hdr-" + name + ".bin"));
}

TEST(Identity, OfHeadersOf1121) {
    const auto local = identity_in(golden("twoparts-local.part0"));
    const auto remote = identity_in(golden("twoparts-remote.part0"));
    ASSERT_TRUE(local);
    EXPECT_EQ(local->signature, "PMEMOBJ");
    EXPECT_EQ(local, remote); // a replica of the pool
    EXPECT_EQ(remote, identity_in(golden("twoparts-remote.part1")));
    EXPECT_NE(local, identity_in(golden("default-local.part0")));
}

TEST(Identity, IsTheWholeSignatureAndTheWholeUuid) {
    const auto page_of_pool = golden("default-local.part0");
    const auto identity = identity_in(page_of_pool);
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->poolset_uuid.size(), 32U);
    const auto changed = [&](std::size_t place) {
        auto page_copy = page_of_pool;
        page_copy.at(place) ^= std::byte{1};
        return identity_in(page_copy) != identity;
    };
    for (const std::size_t place : {0U, 6U, 24U, 39U})
        EXPECT_TRUE(changed(place)) << place;
    for (const std::size_t place : {8U, 23U, 40U, 56U, 4095U})
        EXPECT_FALSE(changed(place)) << place;
}

TEST(Identity, NeedsAPageASignatureAndAUuid) {
    const auto page_of_pool = golden("default-local.part0");
    const auto with = [&](std::size_t begin, const std::string& text) {
        auto page_copy = page_of_pool;
        std::ranges::copy(test::bytes_of_text(text),
                          page_copy.begin() + static_cast<std::ptrdiff_t>(begin));
        return identity_in(page_copy);
    };
    EXPECT_FALSE(identity_in(std::span(page_of_pool).first(4095)));
    EXPECT_FALSE(identity_in({}));
    EXPECT_FALSE(with(0, std::string(8, '\0')));
    EXPECT_FALSE(with(0, "PMEM\nOBJ"));
    EXPECT_FALSE(with(0, "PMEM\x7fOBJ"));
    EXPECT_FALSE(with(0, "PMEM\xffOBJ"));
    EXPECT_EQ(with(0, "~ FULL ~").value_or(Identity{}).signature, "~ FULL ~");
    EXPECT_EQ(with(0, std::string("A\0\nBCDEF", 8)).value_or(Identity{}).signature, "A");
    EXPECT_FALSE(with(24, std::string(16, '\0')));
    EXPECT_EQ(with(24, std::string(15, '\0') + "\x01").value_or(Identity{}).poolset_uuid,
              std::string(31, '0') + "1");
    EXPECT_EQ(with(24, "\xf0" + std::string(15, '\0')).value_or(Identity{}).poolset_uuid,
              "f0" + std::string(30, '0'));
}

const Identity one{"PMEMOBJ", std::string(32, '1')};
const Identity other{"PMEMOBJ", std::string(32, '2')};

std::vector<std::string> found(Side local, Side remote, std::uint64_t needed = 0) {
    local.name = "LOCAL";
    remote.name = "REMOTE";
    return mismatches(local, remote, needed);
}

TEST(Mismatches, OfIdentity) {
    EXPECT_TRUE(found({"", 8192, true, one}, {"", 8192, true, one}).empty());
    const auto another = found({"", 8192, true, other}, {"", 8192, true, one});
    ASSERT_EQ(another.size(), 1U);
    for (const auto* words : {"LOCAL is not this pool", "has signature PMEMOBJ, poolset_uuid 2222",
                              "the pool has signature PMEMOBJ, poolset_uuid 1111"})
        EXPECT_TRUE(test::contains(another[0], words));
    const auto signature =
        found({"", 8192, true, Identity{"OTHER", one.poolset_uuid}}, {"", 8192, true, one});
    EXPECT_EQ(signature.size(), 1U);
    const auto none = found({"", 8192, false, {}}, {"", 8192, true, one});
    ASSERT_EQ(none.size(), 1U);
    EXPECT_TRUE(test::contains(none[0], "has no pool header"));
    // A pool of the target without headers has no identity to compare with.
    EXPECT_TRUE(found({"", 8192, true, one}, {"", 8192, false, {}}).empty());
}

TEST(Mismatches, OfLength) {
    const auto lengths = [](std::uint64_t local, std::uint64_t remote, std::uint64_t needed) {
        return found({"", local, true, one}, {"", remote, true, one}, needed);
    };
    EXPECT_TRUE(lengths(8192, 8192, 0).empty());
    EXPECT_TRUE(lengths(8192, 8192, 9000).empty());
    const auto longer = lengths(8193, 8192, 0);
    ASSERT_EQ(longer.size(), 1U);
    EXPECT_TRUE(test::contains(longer[0], "LOCAL has 8193 bytes, 1 more than the pool"));
    const auto shorter = lengths(8191, 8192, 0);
    ASSERT_EQ(shorter.size(), 1U);
    EXPECT_TRUE(test::contains(shorter[0], "LOCAL has 8191 bytes, 1 fewer than the pool"));
    // Bytes at the end that the program cannot use may be missing, if their number is known.
    EXPECT_TRUE(lengths(8191, 8192, 8191).empty());
    EXPECT_TRUE(lengths(8191, 8192, 1).empty());
    EXPECT_EQ(lengths(8191, 8192, 8192).size(), 1U);
    EXPECT_EQ(found({"", 1, true, other}, {"", 2, true, one}).size(), 2U);
}

} // namespace
} // namespace rpmem::compare
