// SPDX-License-Identifier: BSD-3-Clause
// Tests the recovery of headers in memory, after a change of the attributes was interrupted. The
// test fails if headers do not get the attributes of part 0, if headers are changed that differ in
// another way, or if a torn header is restored from a copy of other headers.
#include "rpmemd/pools/headers/header_recovery.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

namespace rpmem::target {
namespace {

using Headers = std::vector<PoolHeader>;

Headers headers_of(std::size_t count, const rpmem_pool_attr& attributes = golden_attributes(2)) {
    std::vector<Uuid> uuids(count);
    for (std::size_t i = 0; i < count; ++i)
        uuids[i].fill(static_cast<unsigned char>(0xa0 + i));
    return build_headers(attributes, uuids, 7);
}

Headers renewed(const Headers& headers) {
    return rewrite_headers(headers, golden_attributes(2, 0x80));
}

// After an interrupted set_attributes() or its undoing, any of the parts may differ.
TEST(HeaderRecovery, PartsFollowTheFirstOne) {
    const auto old_headers = headers_of(5);
    const auto new_headers = renewed(old_headers);
    for (unsigned changed = 0; changed < 1U << 5; ++changed) {
        Headers mixed;
        for (std::size_t i = 0; i < 5; ++i)
            mixed.push_back((changed >> i & 1) != 0 ? new_headers[i] : old_headers[i]);
        EXPECT_TRUE(
            same_headers(follow_first(mixed), (changed & 1) != 0 ? new_headers : old_headers))
            << changed;
    }
}

struct Strange {
    const char* what;
    std::function<void(Headers&)> change; // changes 4 headers; the last has new attributes
};
std::ostream& operator<<(std::ostream& stream, const Strange& strange) {
    return stream << strange.what;
}

class StrangeHeaders : public testing::TestWithParam<Strange> {};

TEST_P(StrangeHeaders, StayAsTheyAre) {
    auto headers = headers_of(4);
    headers[3] = renewed(headers)[3];
    ASSERT_FALSE(same_headers(follow_first(headers), headers)) << "the change is what matters";
    GetParam().change(headers);
    EXPECT_TRUE(same_headers(follow_first(headers), headers));
    const std::vector<std::string> names(4, "part");
    EXPECT_TRUE(failed(verify_headers(headers, names, HeaderLayout::every_part), EINVAL));
}

template <typename Change>
auto sealed(std::size_t index, Change change) {
    return [=](Headers& headers) {
        change(headers[index]);
        seal(headers[index]);
    };
}

INSTANTIATE_TEST_SUITE_P(
    Pools, StrangeHeaders,
    testing::Values(
        Strange{"exchanged", [](Headers& headers) { std::swap(headers[1], headers[2]); }},
        Strange{"of another pool", [](Headers& headers) { headers[3] = headers_of(7)[6]; }},
        Strange{"empty", [](Headers& headers) { headers[2] = PoolHeader{}; }},
        Strange{"torn", [](Headers& headers) { ++headers[2].major; }},
        Strange{"of a third version", sealed(2, [](PoolHeader& header) { ++header.major; })},
        Strange{"another part", sealed(2, [](PoolHeader& header) { ++header.uuid[0]; })},
        Strange{"another link", sealed(1, [](PoolHeader& header) { ++header.next_part_uuid[0]; })},
        Strange{"another link back",
                sealed(2, [](PoolHeader& header) { ++header.previous_part_uuid[0]; })},
        Strange{"another link of the first",
                sealed(0, [](PoolHeader& header) { ++header.next_part_uuid[0]; })}));

TEST(HeaderRecovery, ATornHeaderIsRestoredOnlyFromACopyThatFits) {
    const auto old_headers = headers_of(3);
    const HeaderCopy copy{old_headers, renewed(old_headers)};
    auto torn = old_headers;
    torn[1].signature = copy.after[1].signature;
    ASSERT_TRUE(has_torn(torn));
    const auto restored = value_of(restore_torn(torn, copy));
    EXPECT_TRUE(are_same_headers(restored[1], copy.after[1]));
    EXPECT_TRUE(are_same_headers(restored[0], old_headers[0]));

    auto others = torn;
    others[1].unused[7] = std::byte{1};
    EXPECT_TRUE(failed(restore_torn(others, copy), EINVAL, "belongs to other headers"));
    others = torn;
    ++others[2].creation_time;
    seal(others[2]);
    EXPECT_TRUE(failed(restore_torn(others, copy), EINVAL, "belongs to other headers"));
    torn.pop_back();
    EXPECT_TRUE(failed(restore_torn(torn, copy), EINVAL, "with 3 headers, and this one has 2"));
}

// A header with a wrong checksum may be torn, but one that is all zeros is empty.
TEST(HeaderRecovery, AnEmptyHeaderIsNotTorn) {
    EXPECT_FALSE(is_torn(PoolHeader{}));
    auto header = headers_of(1)[0];
    EXPECT_FALSE(is_torn(header));
    header.checksum = 0;
    EXPECT_TRUE(is_torn(header));
}

// The architecture flags of an existing pool may be zero. That must not change its headers.
TEST(HeaderRecovery, PoolsThatAreWholeStayAsTheyAre) {
    for (const bool no_flags : {false, true}) {
        auto headers = headers_of(3);
        for (auto& header : headers) {
            if (no_flags)
                header.arch_flags = {};
            seal(header);
        }
        EXPECT_TRUE(same_headers(follow_first(headers), headers));
    }
    EXPECT_TRUE(follow_first({}).empty());
}

} // namespace
} // namespace rpmem::target
