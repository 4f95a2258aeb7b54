// SPDX-License-Identifier: BSD-3-Clause
// The excluded ranges that a client sends to an action. A text that does not end, and a line that
// does not, are different mistakes of the client, and the error must name the right one.
#include "common/base/io.hpp"
#include "rpmemd/actions/caller.hpp"
#include "tests/support/expect.hpp"

#include <string>

namespace rpmem::target {
namespace {

using test::failed;
using test::value_of;

constexpr std::chrono::seconds timeout(10);

Result<std::vector<ExceptRange>> ranges_in(const std::string& text) {
    auto pair = value_of(make_socket_pair());
    EXPECT_TRUE(write_fully(pair.theirs.get(), std::as_bytes(std::span(text)), Deadline(timeout)));
    pair.theirs.reset();
    return read_except(pair.ours.get(), timeout);
}

TEST(ExcludedRanges, EndWithAnEmptyLine) {
    const auto ranges = value_of(ranges_in("0 4096\n8192 1\n\n"));
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[1].begin, 8192U);
    EXPECT_EQ(ranges[1].end, 8193U);
    EXPECT_TRUE(failed(ranges_in("0 4096\n"), EINVAL, "end without an empty line"));
}

TEST(ExcludedRanges, ALineThatIsTooLongIsNamed) {
    EXPECT_TRUE(failed(ranges_in("0 4096\n" + std::string(200000, '1')), EINVAL,
                       "longer than 65536 bytes"));
}

} // namespace
} // namespace rpmem::target
