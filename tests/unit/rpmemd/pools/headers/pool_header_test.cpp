// SPDX-License-Identifier: BSD-3-Clause
// Tests the bytes of pool headers, with the golden headers in tests/data/headers. The test fails if
// such a header is refused or is not rebuilt byte by byte, if a changed byte or a part of another
// pool is accepted, if parts are linked wrongly, or if the checksum differs.
#include "common/pools/checksum.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <set>

namespace rpmem::target {
namespace {

constexpr auto every_part = HeaderLayout::every_part;
constexpr auto first_only = HeaderLayout::first_part_only;

// A pool, with a golden file for each header.
struct GoldenPool {
    std::vector<std::string> files;
    HeaderLayout layout;
};

std::ostream& operator<<(std::ostream& stream, const GoldenPool& pool) {
    return stream << pool.files.front();
}

std::vector<PoolHeader> headers_of(const GoldenPool& pool) {
    std::vector<PoolHeader> headers;
    for (const auto& file : pool.files)
        headers.push_back(header_of(golden(file)));
    return headers;
}

class GoldenHeaders : public testing::TestWithParam<GoldenPool> {};

TEST_P(GoldenHeaders, AreValid) {
    EXPECT_TRUE(
        succeeded(verify_headers(headers_of(GetParam()), GetParam().files, GetParam().layout)));
}

TEST_P(GoldenHeaders, AreRebuiltByteForByteFromTheirAttributes) {
    const auto headers = headers_of(GetParam());
    std::vector<Uuid> uuids;
    for (const auto& header : headers)
        uuids.push_back(header.uuid);
    uuids.front() = {}; // taken from the attributes
    const auto rebuilt = build_headers(attributes_of(headers[0]), uuids, headers[0].creation_time);
    ASSERT_EQ(rebuilt.size(), headers.size());
    for (std::size_t i = 0; i < headers.size(); ++i)
        EXPECT_EQ(bytes_of(rebuilt[i]), golden(GetParam().files[i])) << GetParam().files[i];
}

TEST_P(GoldenHeaders, BelongToTheOtherLayoutByMistake) {
    const auto other = GetParam().layout == every_part ? first_only : every_part;
    EXPECT_TRUE(failed(verify_headers(headers_of(GetParam()), GetParam().files, other), EINVAL,
                       "SINGLEHDR"));
}

INSTANTIATE_TEST_SUITE_P(
    Pools, GoldenHeaders,
    testing::Values(GoldenPool{{"attr-default-part0"}, every_part},
                    GoldenPool{{"attr-sds-part0"}, every_part},
                    GoldenPool{{"attr-after-setattr-part0"}, every_part},
                    GoldenPool{{"attr-singlehdr-part0"}, first_only},
                    GoldenPool{{"attr-twoparts-part0", "attr-twoparts-part1"}, every_part},
                    GoldenPool{{"default-local.part0"}, every_part},
                    GoldenPool{{"default-remote.part0"}, every_part},
                    GoldenPool{{"singlehdr-local.part0"}, first_only},
                    GoldenPool{{"singlehdr-remote.part0"}, first_only},
                    GoldenPool{{"twoparts-local.part0"}, every_part},
                    GoldenPool{{"twoparts-remote.part0", "twoparts-remote.part1"}, every_part}));

TEST(PoolHeader, WithoutChecksum2kEveryFlippedByteIsNoticed) {
    auto header = header_of(golden("attr-default-part0"));
    header.incompat_features = 0;
    header.shutdown_state.dirty = 1;
    seal(header);
    auto bytes = bytes_of(header);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(bytes[i] ^ 0x40);
        const auto flipped = header_of(bytes);
        EXPECT_TRUE(failed(
            verify_headers(std::array{flipped}, std::array<std::string, 1>{"part"}, every_part),
            EINVAL))
            << "byte " << i;
        bytes[i] = static_cast<char>(bytes[i] ^ 0x40);
    }
}

TEST(PoolHeader, AttributesComeBackAsTheyWentIn) {
    EXPECT_TRUE(same_attributes(attributes_of(header_of(golden("attr-default-part0"))),
                                golden_attributes(2)));
    EXPECT_TRUE(same_attributes(attributes_of(header_of(golden("attr-after-setattr-part0"))),
                                golden_attributes(2, 0x80)));
}

TEST(PoolHeader, PartsFormARing) {
    std::vector<Uuid> uuids(3);
    uuids[1].fill(0xa1);
    uuids[2].fill(0xa2);
    const auto headers = build_headers(golden_attributes(2), uuids, 0);
    EXPECT_EQ(headers[0].uuid[0], 0x20);
    EXPECT_EQ(headers[0].next_part_uuid, uuids[1]);
    EXPECT_EQ(headers[0].previous_part_uuid, uuids[2]);
    EXPECT_EQ(headers[1].previous_part_uuid, headers[0].uuid);
    EXPECT_EQ(headers[1].next_part_uuid, uuids[2]);
    EXPECT_EQ(headers[2].previous_part_uuid, uuids[1]);
    EXPECT_EQ(headers[2].next_part_uuid, headers[0].uuid);
}

TEST(PoolHeader, RewritingKeepsTimesAndOtherParts) {
    std::vector<Uuid> uuids(2);
    uuids[1].fill(0xa1);
    const auto old_headers = build_headers(golden_attributes(2), uuids, 77);
    const auto headers = rewrite_headers(old_headers, golden_attributes(2, 0x80));
    EXPECT_EQ(headers[0].uuid[0], 0x90);
    EXPECT_EQ(headers[1].uuid, uuids[1]);
    EXPECT_EQ(headers[1].previous_part_uuid[0], 0x90);
    EXPECT_EQ(headers[1].creation_time, 77U);
    EXPECT_TRUE(succeeded(
        verify_headers(headers, std::array<std::string, 2>{"part0", "part1"}, every_part)));
}

TEST(PoolHeader, ZeroUserFlagsBecomeThoseOfThisMachine) {
    auto attributes = golden_attributes(2);
    std::ranges::fill(attributes.user_flags, static_cast<unsigned char>(0));
    const auto headers = build_headers(attributes, std::vector<Uuid>(1), 0);
    const auto flags = machine_arch_flags();
    EXPECT_EQ(std::memcmp(&headers[0].arch_flags, &flags, sizeof(flags)), 0);
#if defined(__x86_64__)
    const auto made_by_libpmemobj = header_of(golden("default-local.part0")).arch_flags;
    EXPECT_EQ(std::memcmp(&made_by_libpmemobj, &flags, sizeof(flags)), 0);
#endif
}

TEST(PoolHeader, RandomUuidsDifferAndHaveVersion4) {
    std::set<Uuid> uuids;
    for (int i = 0; i < 100; ++i) {
        const auto uuid = random_uuid();
        EXPECT_EQ(uuid[7] >> 4, 4);
        EXPECT_EQ(uuid[8] >> 6, 2);
        uuids.insert(uuid);
    }
    EXPECT_EQ(uuids.size(), 100U);
    EXPECT_EQ(header_of(golden("attr-twoparts-part1")).uuid[7] >> 4, 4) << "where others put it";
}

// Headers of two parts that differ in one field. Their checksums are valid.
struct Mismatch {
    const char* text;
    std::function<void(PoolHeader&)> change;
};

std::ostream& operator<<(std::ostream& stream, const Mismatch& mismatch) {
    return stream << mismatch.text;
}

class MismatchedParts : public testing::TestWithParam<Mismatch> {};

TEST_P(MismatchedParts, AreRefused) {
    auto headers = headers_of({{"attr-twoparts-part0", "attr-twoparts-part1"}, every_part});
    GetParam().change(headers[1]);
    seal(headers[1]);
    EXPECT_TRUE(
        failed(verify_headers(headers, std::array<std::string, 2>{"zero", "one"}, every_part),
               EINVAL, GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, MismatchedParts,
    testing::Values(
        Mismatch{"signature", [](PoolHeader& header) { header.signature[0] = 'X'; }},
        Mismatch{"major version (16909076 and 16909077)",
                 [](PoolHeader& header) { ++header.major; }},
        Mismatch{"features", [](PoolHeader& header) { header.compat_features ^= 8; }},
        Mismatch{"features", [](PoolHeader& header) { header.incompat_features ^= 8; }},
        Mismatch{"features", [](PoolHeader& header) { header.ro_compat_features ^= 8; }},
        Mismatch{"pool set UUID", [](PoolHeader& header) { ++header.poolset_uuid[15]; }},
        Mismatch{"replica", [](PoolHeader& header) { ++header.previous_replica_uuid[0]; }},
        Mismatch{"replica", [](PoolHeader& header) { ++header.next_replica_uuid[0]; }},
        Mismatch{"architecture", [](PoolHeader& header) { ++header.arch_flags.machine; }},
        Mismatch{"does not follow", [](PoolHeader& header) { ++header.uuid[3]; }},
        Mismatch{"does not follow", [](PoolHeader& header) { ++header.next_part_uuid[3]; }},
        Mismatch{"does not follow", [](PoolHeader& header) { ++header.previous_part_uuid[3]; }},
        Mismatch{"no pool header", [](PoolHeader& header) { header = PoolHeader{}; }}));

template <std::size_t Count>
std::uint64_t checksum(const std::array<std::uint32_t, Count>& words, std::size_t self = SIZE_MAX,
                       std::size_t zero_from = SIZE_MAX) {
    return fletcher_checksum(std::as_bytes(std::span(words)), self, zero_from);
}

TEST(Checksum, SumsWordsAndSums) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 3>{1, 2, 3}),
              (std::uint64_t{1 + 3 + 6} << 32) | 6);
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{}), 0U);
    EXPECT_EQ(checksum(std::array<std::uint32_t, 0>{}), 0U);
}

TEST(Checksum, SumsWrapAt32Bits) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 2>{0xffffffff, 2}), std::uint64_t{0} << 32 | 1);
}

TEST(Checksum, ItsOwnBytesCountAsZeroButAsWords) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{1, 7, 8, 2}, 4),
              checksum(std::array<std::uint32_t, 4>{1, 0, 0, 2}));
    EXPECT_NE(checksum(std::array<std::uint32_t, 4>{1, 7, 8, 2}, 4),
              checksum(std::array<std::uint32_t, 2>{1, 2}));
}

TEST(Checksum, TheEndCountsAsZeroButAsWords) {
    EXPECT_EQ(checksum(std::array<std::uint32_t, 4>{1, 2, 9, 9}, SIZE_MAX, 8),
              checksum(std::array<std::uint32_t, 4>{1, 2, 0, 0}));
    EXPECT_NE(checksum(std::array<std::uint32_t, 4>{1, 2, 9, 9}, SIZE_MAX, 8),
              checksum(std::array<std::uint32_t, 2>{1, 2}));
}

} // namespace
} // namespace rpmem::target
