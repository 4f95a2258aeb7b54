#include "rpmemd/pools/part_layout.hpp"
#include "tests/unit/pools/pool_fixture.hpp"

namespace rpmem::target {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(PartLayout, EveryPartLosesItsHeaderButTheFirst) {
    const auto layout = lay_out_parts(HeaderLayout::every_part, Sizes{2 * MiB, 4 * MiB, 2 * MiB});
    ASSERT_TRUE(succeeded(layout));
    EXPECT_EQ(layout->size, 8 * MiB - 2 * 4096);
    EXPECT_EQ(layout->parts[0].file_offset, 0U);
    EXPECT_EQ(layout->parts[0].length, 2 * MiB);
    EXPECT_EQ(layout->parts[1].file_offset, 4096U);
    EXPECT_EQ(layout->parts[1].pool_offset, 2 * MiB);
    EXPECT_EQ(layout->parts[1].length, 4 * MiB - 4096);
    EXPECT_EQ(layout->parts[2].pool_offset, 6 * MiB - 4096);
}

TEST(PartLayout, WithoutHeadersEveryByteCounts) {
    for (const auto headers : {HeaderLayout::first_part_only, HeaderLayout::none}) {
        const auto layout = lay_out_parts(headers, Sizes{2 * MiB, 4 * MiB});
        ASSERT_TRUE(succeeded(layout));
        EXPECT_EQ(layout->size, 6 * MiB);
        EXPECT_EQ(layout->parts[1].file_offset, 0U);
    }
}

TEST(PartLayout, SizesAreRoundedDownToPages) {
    const auto layout = lay_out_parts(HeaderLayout::none, Sizes{2 * MiB + 4095, 2 * MiB + 4096});
    ASSERT_TRUE(succeeded(layout));
    EXPECT_EQ(layout->parts[0].length, 2 * MiB);
    EXPECT_EQ(layout->parts[1].pool_offset, 2 * MiB);
    EXPECT_EQ(layout->size, 4 * MiB + 4096);
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
