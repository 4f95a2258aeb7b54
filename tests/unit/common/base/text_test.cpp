// SPDX-License-Identifier: BSD-3-Clause
// Tests take_until(), parse_number() and trimmed(), for example of settings and pool set files. The
// test fails if an empty piece between separators is lost, if a number with a sign, a blank, a
// prefix or a trailing character is accepted, if a number that is too large is truncated, or if
// blanks inside a text are removed.
#include "common/base/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rpmem {
namespace {

TEST(Text, IsTakenPieceByPiece) {
    struct Case {
        std::string_view text;
        std::vector<std::string_view> pieces;
    };
    for (const auto& [text, pieces] :
         {Case{"", {}}, Case{"a", {"a"}}, Case{"a,b;c", {"a", "b", "c"}},
          Case{"a,,b", {"a", "", "b"}}, Case{",a", {"", "a"}}, Case{"a,", {"a"}}}) {
        std::string_view rest = text;
        std::vector<std::string_view> taken;
        while (!rest.empty())
            taken.push_back(take_until(rest, ",;"));
        EXPECT_EQ(taken, pieces) << text;
    }
    std::string_view nothing;
    EXPECT_EQ(take_until(nothing, ","), "");
}

TEST(Text, IsANumberAsAWholeOrNot) {
    struct Case {
        std::string_view text;
        int base;
        std::optional<std::uint16_t> number;
    };
    for (const auto& [text, base, number] :
         {Case{"0", 10, 0}, Case{"65535", 10, 65535}, Case{"007", 10, 7}, Case{"0640", 8, 0640},
          Case{"65536", 10, std::nullopt}, Case{"", 10, std::nullopt}, Case{"8", 8, std::nullopt},
          Case{"-1", 10, std::nullopt}, Case{"+1", 10, std::nullopt}, Case{" 1", 10, std::nullopt},
          Case{"1 ", 10, std::nullopt}, Case{"1x", 10, std::nullopt},
          Case{"0x1", 16, std::nullopt}})
        EXPECT_EQ(parse_number<std::uint16_t>(text, base), number) << text;
}

TEST(Text, LosesBlanksAtItsEndsOnly) {
    EXPECT_EQ(trimmed(" \t a b\r\v\f"), "a b");
    EXPECT_EQ(trimmed("a"), "a");
    EXPECT_EQ(trimmed(" \t"), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(Text, OfAFieldEndsAtItsFirstNul) {
    EXPECT_EQ(fixed_text({"ab\0c\0", 5}), "ab");
    EXPECT_EQ(fixed_text({"abcd", 4}), "abcd");
    EXPECT_EQ(fixed_text({"\0bcd", 4}), "");
}

} // namespace
} // namespace rpmem
