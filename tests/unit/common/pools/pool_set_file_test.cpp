// SPDX-License-Identifier: BSD-3-Clause
// Tests parse_pool_set(), parse_part_size() and lay_out_parts() on texts and sizes, without files.
// The test fails if a part gets another size or place than poolset(5) specifies, if a malformed
// file is accepted or its error lacks the line number, if an error quotes a file that is not a pool
// set, or if a limit or an overflow is not checked.
#include "common/pools/part_layout.hpp"
#include "common/pools/pool_set_file.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

namespace rpmem::target {
namespace {

TEST(PoolSetFile, PartsComeInOrder) {
    const auto set =
        value_of(parse_pool_set("PMEMPOOLSET\n2M /a/part0\n3MB /a/part1\nAUTO /dev/dax0.0\n", "s"));
    EXPECT_EQ(set.headers, HeaderLayout::every_part);
    ASSERT_EQ(set.parts.size(), 3U);
    EXPECT_EQ(set.parts[0].path, "/a/part0");
    EXPECT_EQ(set.parts[0].size, 2 * MiB);
    EXPECT_EQ(set.parts[1].size, 3000000U);
    EXPECT_EQ(set.parts[2].path, "/dev/dax0.0");
    EXPECT_FALSE(set.parts[2].size.has_value());
}

TEST(PoolSetFile, OptionsMayComeAnywhereAfterTheFirstLine) {
    EXPECT_EQ(parse_pool_set("PMEMPOOLSET\nOPTION SINGLEHDR\n2M /p", "s")->headers,
              HeaderLayout::first_part_only);
    EXPECT_EQ(parse_pool_set("PMEMPOOLSET\n2M /p\nOPTION NOHDRS\nOPTION NOHDRS\n", "s")->headers,
              HeaderLayout::none);
}

TEST(PoolSetFile, CommentsBlanksAndCarriageReturnsAreSkipped) {
    const auto set =
        value_of(parse_pool_set("PMEMPOOLSET\r\n# 9M /no\r\n\r\n \t \r\n"
                                "\t2M\t /p#1  # the part\r\nOPTION SINGLEHDR # yes\r\n  # end",
                                "s"));
    ASSERT_EQ(set.parts.size(), 1U);
    EXPECT_EQ(set.parts[0].path, "/p#1");
    EXPECT_EQ(set.headers, HeaderLayout::first_part_only);
}

TEST(PoolSetFile, SizesHaveUnits) {
    const std::pair<const char*, std::uint64_t> sizes[] = {{"4096", 4096},
                                                           {"4096B", 4096},
                                                           {"3K", 3072},
                                                           {"3KiB", 3072},
                                                           {"3kB", 3000},
                                                           {"3M", 3 * MiB},
                                                           {"3MiB", 3 * MiB},
                                                           {"3MB", 3000000},
                                                           {"3G", 3072 * MiB},
                                                           {"3GiB", 3072 * MiB},
                                                           {"3GB", 3000000000},
                                                           {"3T", 3072 * 1024 * MiB},
                                                           {"3TiB", 3072 * 1024 * MiB},
                                                           {"3TB", 3000000000000},
                                                           {"8191P", 8191ULL << 50}};
    for (const auto& [text, size] : sizes)
        EXPECT_EQ(parse_part_size(text), size) << text;
}

TEST(PoolSetFile, WhatIsNoSizeIsNone) {
    for (const auto* text :
         {"", "M", "-1M", "+1M", "1.5M", "1 M", "0x10", "1m", "1KB", "1kiB", "1MIB", "1Mb", "1MM",
          "8192P", "9223372036854775808", "18446744073709551616", "99999999999999999999999999M"})
        EXPECT_FALSE(parse_part_size(text).has_value()) << text;
}

struct Mistake {
    std::string text;
    const char* where; // FILE:LINE:
    const char* why;
};

std::ostream& operator<<(std::ostream& stream, const Mistake& mistake) {
    return stream << mistake.where << " " << mistake.why;
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreReportedWithFileAndLine) {
    const auto set = parse_pool_set(GetParam().text, "my.set");
    EXPECT_TRUE(failed(set, EINVAL, GetParam().where));
    EXPECT_TRUE(failed(set, EINVAL, GetParam().why));
}

const std::string head = "PMEMPOOLSET\n# comment\n";

INSTANTIATE_TEST_SUITE_P(
    All, Mistakes,
    testing::Values(
        Mistake{"", "my.set:1:", "first line"},
        Mistake{"2M /p\n", "my.set:1:", "not a pool set file"},
        Mistake{"\nPMEMPOOLSET\n2M /p\n", "my.set:1:", "first line"},
        Mistake{"PMEMPOOLSET \n2M /p\n", "my.set:1:", "first line"},
        Mistake{"PMEMPOOLSETS\n2M /p\n", "my.set:1:", "first line"},
        Mistake{head, "my.set:2:", "no parts"}, Mistake{head + "2M\n", "my.set:3:", "\"2M\""},
        Mistake{head + "2M /p more\n", "my.set:3:", "\"2M /p more\""},
        Mistake{head + "foo bar\n", "my.set:3:", "not a size"},
        Mistake{head + "2Q /p\n", "my.set:3:", "not a size"},
        Mistake{head + "auto /p\n", "my.set:3:", "not a size"},
        Mistake{head + "2097151 /p\n", "my.set:3:", "2 MiB"},
        Mistake{head + "0 /p\n", "my.set:3:", "2 MiB"},
        Mistake{head + "2M p\n", "my.set:3:", "absolute"},
        Mistake{head + "2M ../p\n", "my.set:3:", "absolute"},
        Mistake{head + "2M /p\n\n3M /p\n", "my.set:5:", "listed already"},
        Mistake{head + "OPTION\n2M /p\n", "my.set:3:", "OPTION takes"},
        Mistake{head + "OPTION SINGLEHDR NOHDRS\n2M /p\n", "my.set:3:", "OPTION takes"},
        Mistake{head + "OPTION HDRS\n2M /p\n", "my.set:3:", "unknown option"},
        Mistake{head + "2M /p\nOPTION NOHDRS\nOPTION SINGLEHDR\n", "my.set:5:", "exclude"},
        Mistake{head + "option NOHDRS\n2M /p\n", "my.set:3:", "not a size"},
        Mistake{head + "2M /p\nREPLICA\n2M /q\n", "my.set:4:", "REPLICA"},
        Mistake{head + "2M /p\nREPLICA user@host other.set\n", "my.set:4:", "cannot have replicas"},
        Mistake{head + std::string("2M /p\0q\n", 8), "my.set:3:", "control characters"},
        Mistake{head + "2M /p\x1b[2J\n", "my.set:3:", "\"2M /p?[2J\""}));

// A peer may name any file that the daemon's user can read.
TEST(PoolSetFile, NothingIsToldOfAFileOfAnotherKind) {
    for (const std::string text : {"https://me:secret@example.org\n", "secret", "\nsecret\n",
                                   "PMEMPOOLSET secret\n", "secret\nPMEMPOOLSET\n"}) {
        const auto set = parse_pool_set(text, "my.set");
        ASSERT_TRUE(failed(set, EINVAL, "my.set:1:")) << text;
        EXPECT_FALSE(test::contains(set.error().text, "secret"));
        EXPECT_FALSE(begins_as_pool_set(text)) << text;
    }
    EXPECT_TRUE(begins_as_pool_set("PMEMPOOLSET\r\nsecret"));
}

TEST(PoolSetFile, LongLinesAreQuotedInPart) {
    const auto set = parse_pool_set(head + std::string(100000, 'x'), "my.set");
    ASSERT_TRUE(failed(set, EINVAL, "my.set:3:"));
    EXPECT_LT(set.error().text.size(), 400U);
}

TEST(PoolSetFile, SizeLinesAndPartsAreBounded) {
    EXPECT_TRUE(failed(parse_pool_set(std::string(max_pool_set_file_size + 1, '\n'), "my.set"),
                       EINVAL, "my.set is larger"));
    const std::string lines(max_pool_set_lines, '\n');
    EXPECT_TRUE(failed(parse_pool_set("PMEMPOOLSET\n" + lines + "2M /p\n", "my.set"), EINVAL,
                       "too many lines"));

    std::string parts = "PMEMPOOLSET\n";
    for (std::size_t i = 0; i < max_pool_set_parts; ++i)
        parts += fmt::format("2M /part{}\n", i);
    EXPECT_TRUE(succeeded(parse_pool_set(parts, "my.set")));
    EXPECT_TRUE(failed(parse_pool_set(parts + "2M /last\n", "my.set"), EINVAL, "too many parts"));
}

using Sizes = std::vector<std::uint64_t>;

TEST(PartLayout, EveryPartLosesItsHeaderButTheFirst) {
    const auto layout =
        value_of(lay_out_parts(HeaderLayout::every_part, Sizes{2 * MiB, 4 * MiB, 2 * MiB}));
    EXPECT_EQ(layout.size, 8 * MiB - 2 * 4096);
    EXPECT_EQ(layout.parts[0].file_offset, 0U);
    EXPECT_EQ(layout.parts[0].length, 2 * MiB);
    EXPECT_EQ(layout.parts[1].file_offset, 4096U);
    EXPECT_EQ(layout.parts[1].pool_offset, 2 * MiB);
    EXPECT_EQ(layout.parts[1].length, 4 * MiB - 4096);
    EXPECT_EQ(layout.parts[2].pool_offset, 6 * MiB - 4096);
}

TEST(PartLayout, WithoutHeadersEveryByteCounts) {
    for (const auto headers : {HeaderLayout::first_part_only, HeaderLayout::none}) {
        const auto layout = value_of(lay_out_parts(headers, Sizes{2 * MiB, 4 * MiB}));
        EXPECT_EQ(layout.size, 6 * MiB);
        EXPECT_EQ(layout.parts[1].file_offset, 0U);
    }
}

TEST(PartLayout, SizesAreRoundedDownToPages) {
    const auto layout =
        value_of(lay_out_parts(HeaderLayout::none, Sizes{2 * MiB + 4095, 2 * MiB + 4096}));
    EXPECT_EQ(layout.parts[0].length, 2 * MiB);
    EXPECT_EQ(layout.parts[1].pool_offset, 2 * MiB);
    EXPECT_EQ(layout.size, 4 * MiB + 4096);
}

TEST(PartLayout, HeadersAreWhereTheLayoutSays) {
    EXPECT_TRUE(has_header(HeaderLayout::every_part, 0));
    EXPECT_TRUE(has_header(HeaderLayout::every_part, 5));
    EXPECT_TRUE(has_header(HeaderLayout::first_part_only, 0));
    EXPECT_FALSE(has_header(HeaderLayout::first_part_only, 1));
    EXPECT_FALSE(has_header(HeaderLayout::none, 0));
}

TEST(PartLayout, SmallPartsAndNoPartsAreRefused) {
    EXPECT_TRUE(
        failed(lay_out_parts(HeaderLayout::none, Sizes{2 * MiB, 2 * MiB - 1}), EINVAL, "part 1"));
    EXPECT_TRUE(failed(lay_out_parts(HeaderLayout::none, Sizes{}), EINVAL));
}

TEST(PartLayout, SumsThatOverflowAreRefused) {
    const std::uint64_t half = std::uint64_t{1} << 62;
    EXPECT_TRUE(failed(lay_out_parts(HeaderLayout::none, Sizes{half, half}), EINVAL, "too large"));
    EXPECT_TRUE(failed(lay_out_parts(HeaderLayout::none, Sizes{UINT64_MAX}), EINVAL, "too large"));
    EXPECT_TRUE(failed(lay_out_parts(HeaderLayout::none, Sizes{half, half - 1, UINT64_MAX}), EINVAL,
                       "too large"));
}

} // namespace
} // namespace rpmem::target
