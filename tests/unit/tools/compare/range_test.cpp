// SPDX-License-Identifier: BSD-3-Clause
// Tests how ranges of a pool are joined, counted and subtracted. The cases are those in which two
// ends meet. The test fails if a comparison is off by one, if overlapping or adjacent ranges stay
// separate, or if a byte is lost or counted twice.
#include "tools/compare/range.hpp"

#include <gtest/gtest.h>

namespace rpmem::compare {
namespace {

TEST(Ranges, AreJoinedWhereTheyTouch) {
    EXPECT_EQ(joined({}), Ranges{});
    EXPECT_EQ(joined({{8, 9}, {0, 4}}), (Ranges{{0, 4}, {8, 9}}));
    EXPECT_EQ(joined({{4, 8}, {0, 4}}), (Ranges{{0, 8}}));
    EXPECT_EQ(joined({{5, 8}, {0, 4}}), (Ranges{{0, 4}, {5, 8}}));
    EXPECT_EQ(joined({{0, 9}, {2, 3}, {4, 12}}), (Ranges{{0, 12}}));
    EXPECT_EQ(joined({{0, 9}, {2, 3}}), (Ranges{{0, 9}}));
    EXPECT_EQ(joined({{3, 3}, {7, 2}, {5, 6}}), (Ranges{{5, 6}}));
}

TEST(Ranges, AreCounted) {
    EXPECT_EQ(bytes_of(Ranges{}), 0U);
    EXPECT_EQ(bytes_of(Ranges{{0, 4}, {8, 9}}), 5U);
    EXPECT_EQ(bytes_of(Ranges{{0, std::uint64_t{5} << 32}}), std::uint64_t{5} << 32);
}

TEST(Ranges, LeaveOutWhatIsExcluded) {
    constexpr Range all{10, 20};
    const auto rest = [&](const Ranges& excluded) { return without(all, excluded); };
    EXPECT_EQ(rest({}), (Ranges{{10, 20}}));
    EXPECT_EQ(rest({{0, 10}}), (Ranges{{10, 20}}));
    EXPECT_EQ(rest({{20, 30}}), (Ranges{{10, 20}}));
    EXPECT_EQ(rest({{0, 11}}), (Ranges{{11, 20}}));
    EXPECT_EQ(rest({{19, 30}}), (Ranges{{10, 19}}));
    EXPECT_EQ(rest({{10, 12}}), (Ranges{{12, 20}}));
    EXPECT_EQ(rest({{18, 20}}), (Ranges{{10, 18}}));
    EXPECT_EQ(rest({{12, 13}, {15, 18}}), (Ranges{{10, 12}, {13, 15}, {18, 20}}));
    EXPECT_EQ(rest({{0, 2}, {8, 12}, {14, 15}, {19, 40}, {50, 60}}), (Ranges{{12, 14}, {15, 19}}));
    EXPECT_EQ(rest({{10, 20}}), Ranges{});
    EXPECT_EQ(rest({{0, 30}}), Ranges{});
    EXPECT_EQ(without({5, 5}, {}), Ranges{});
}

} // namespace
} // namespace rpmem::compare
