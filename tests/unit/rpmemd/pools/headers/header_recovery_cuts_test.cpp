// SPDX-License-Identifier: BSD-3-Clause
// Tests pools after a power failure or a kill during set_attributes(), a repair, open and close.
// Each torn write that cut_fixture.hpp makes is put on the medium and opened. The test fails if the
// pool does not open, if it has a mixture of old and new attributes, if a reader writes, or if
// pmempool(1) refuses a repaired pool.
#include "rpmemd/pools/headers/header_recovery.hpp"
#include "rpmemd/pools/headers/shutdown_state.hpp"
#include "tests/unit/rpmemd/pools/headers/cut_fixture.hpp"

namespace rpmem::target {
namespace {

constexpr std::uint32_t checksum_2k = feature::incompat_checksum_2k;
constexpr std::uint32_t state = feature::incompat_shutdown_state;
constexpr std::uint32_t single = feature::incompat_single_header;

struct Layout {
    const char* name;
    const char* text; // contents of the pool set file
    std::size_t headers;
    std::uint32_t old_incompat;
    std::uint32_t new_incompat;
};
std::ostream& operator<<(std::ostream& stream, const Layout& layout) {
    return stream << layout.name;
}

constexpr const char* one_part = "2M @/part0\n";
constexpr const char* two_parts = "2M @/part0\n2M @/part1\n";
constexpr const char* five_parts = "2M @/part0\n2M @/part1\n2M @/part2\n2M @/part3\n2M @/part4\n";
constexpr const char* single_header = "OPTION SINGLEHDR\n2M @/part0\n2M @/part1\n";
constexpr Layout layouts[] = {
    {"OnePart", one_part, 1, checksum_2k, checksum_2k},
    {"OnePartWithState", one_part, 1, checksum_2k | state, checksum_2k | state},
    {"OnePartAllCovered", one_part, 1, state, state},
    {"TwoParts", two_parts, 2, checksum_2k, checksum_2k},
    {"TwoPartsGetState", two_parts, 2, checksum_2k, checksum_2k | state},
    {"TwoPartsLoseState", two_parts, 2, checksum_2k | state, checksum_2k},
    {"TwoPartsGetChecksum2k", two_parts, 2, 0, checksum_2k},
    {"FiveParts", five_parts, 5, checksum_2k, checksum_2k},
    {"SingleHeader", single_header, 1, checksum_2k | single, checksum_2k | single},
};

class Cuts : public CutFixture, public testing::WithParamInterface<Layout> {
protected:
    void SetUp() override {
        CutFixture::SetUp();
        pool_set("pool.set", GetParam().text);
    }
    [[nodiscard]] rpmem_pool_attr old_attributes() const {
        return golden_attributes(GetParam().old_incompat);
    }
    [[nodiscard]] rpmem_pool_attr new_attributes() const {
        return golden_attributes(GetParam().new_incompat, 0x80);
    }
    [[nodiscard]] std::vector<PoolHeader> headers() const {
        std::vector<PoolHeader> headers;
        for (std::size_t i = 0; i < GetParam().headers; ++i)
            headers.push_back(header_of(header_page(part(fmt::format("part{}", i)))));
        return headers;
    }
    // Returns the images before, during and after a set_attributes().
    std::vector<Image> record_new_attributes() {
        auto pool = value_of(create("pool.set", 0, old_attributes()));
        return record([&] { EXPECT_TRUE(succeeded(pool.set_attributes(new_attributes()))); });
    }

    // Expects that the pool opens with all attributes of part 0, and that its headers are valid
    // afterwards. If the header of part 0 is torn, the attributes may be the old or the new ones.
    void check() {
        const auto first = header_of(header_page(part("part0")));
        auto pool = open();
        ASSERT_TRUE(succeeded(pool));
        const auto found = pool->attributes();
        EXPECT_TRUE(same_attributes(found, old_attributes()) ||
                    same_attributes(found, new_attributes()));
        if (!is_torn(first)) {
            EXPECT_TRUE(same_attributes(found, attributes_of(first)));
        }
        EXPECT_EQ(std::memcmp(pool->address(), &headers()[0], header_size), 0);
        ASSERT_TRUE(succeeded(pool->close()));
        EXPECT_TRUE(succeeded(verify_headers(headers(), std::vector<std::string>(5, "part"),
                                             GetParam().old_incompat & single
                                                 ? HeaderLayout::first_part_only
                                                 : HeaderLayout::every_part)));
        EXPECT_TRUE(same_attributes(attributes_of(headers()[0]), found));
    }
};

TEST_P(Cuts, OfNewAttributesLeaveTheOldOrTheNew) {
    const auto images = record_new_attributes();
    ASSERT_EQ(images.size(), 2 + GetParam().headers) << "the copy, and each header";
    for_each_cut(images, 12, [&] { check(); });
    put(images.back());
    auto pool = value_of(open());
    EXPECT_TRUE(same_attributes(pool.attributes(), new_attributes()));
}

TEST_P(Cuts, OfTheRepairAreRepaired) {
    const auto images = record_new_attributes();
    for_each_cut(images, 3, [&] {
        const auto cut = image();
        const auto repair = record([&] { static_cast<void>(value_of(open())); });
        for (std::size_t i = 1; i < repair.size(); ++i)
            for (const auto& second : torn(repair[i - 1], repair[i], 2)) {
                put(second);
                check();
            }
    });
}

// The header of part 0 is written last. Until then the pool has the old attributes.
TEST_P(Cuts, OfTheLastWriteDecide) {
    const auto images = record_new_attributes();
    for (std::size_t i = 0; i < images.size(); ++i) {
        put(images[i]);
        auto pool = value_of(open());
        EXPECT_TRUE(same_attributes(pool.attributes(),
                                    i + 1 < images.size() ? old_attributes() : new_attributes()));
    }
}

TEST_P(Cuts, OfAnUndoneChangeLeaveTheOldOrTheNew) {
    auto pool = value_of(create("pool.set", 0, old_attributes()));
    const auto images = record([&] {
        test::Recorder::instance().fail({"pwrite", "/part0", 1, ENOSPC});
        EXPECT_TRUE(failed(pool.set_attributes(new_attributes()), ENOSPC));
    });
    EXPECT_TRUE(succeeded(pool.close()));
    for_each_cut(images, 4, [&] { check(); });
}

// Without a copy, headers that are not torn can be repaired. A torn one is refused.
TEST_P(Cuts, WithoutACopyBetweenTheWritesAreRepaired) {
    options.header_copies = -1;
    const auto images = record_new_attributes();
    for (const auto& each : images) {
        put(each);
        check();
    }
    std::size_t refused = 0;
    for_each_cut(images, 4, [&] {
        const auto before = headers();
        if (!has_torn(before))
            return check();
        EXPECT_TRUE(failed(open(), EINVAL, "there is no copy of its headers"));
        EXPECT_EQ(std::memcmp(before.data(), headers().data(), before.size() * header_size), 0);
        ++refused;
    });
    EXPECT_GT(refused, 0U);
}

TEST_P(Cuts, AReaderTakesWhatPart0SaysAndWritesNothing) {
    const auto images = record_new_attributes();
    for_each_cut(images, 3, [&] {
        options.read_only = true;
        const auto before = image();
        auto pool = open();
        if (has_torn(headers())) {
            EXPECT_TRUE(failed(pool, EINVAL, "cannot restore a header"));
        } else if (succeeded(pool)) {
            EXPECT_TRUE(same_attributes(pool->attributes(), attributes_of(headers()[0])));
        } else {
            ADD_FAILURE() << pool.error().text;
        }
        EXPECT_EQ(image(), before);
        options.read_only = false;
    });
}

// Opening and closing writes the shutdown state. The devices are those of the last session, or
// others.
TEST_P(Cuts, OfTheShutdownStateLeaveAPoolThatOpens) {
    static_cast<void>(value_of(create("pool.set", 0, old_attributes())));
    for (const bool moved : {false, true}) {
        if (moved && (GetParam().old_incompat & state) != 0) {
            auto header = headers()[0];
            header.shutdown_state =
                make_shutdown_state({.unsafe_shutdown_count = 5, .device_uuid = 0x77}, false);
            seal(header);
            auto now = image();
            now[part("part0")] = bytes_of(header);
            put(now);
        }
        const auto opened = record([&] { EXPECT_TRUE(succeeded(open())); });
        for_each_cut(opened, 64, [&] { check(); });
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Cuts, testing::ValuesIn(layouts),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(StockCuts, ARepairedPoolIsOneToPmempool) {
    pool_set("stock.set", "8M @/part0\n8M @/part1\n8M @/part2\n");
    ASSERT_TRUE(pmempool("create obj stock.set")) << "pmempool(1) is needed";
    for (const auto* name : {"part0", "part1", "part2"})
        std::filesystem::permissions(part(name), std::filesystem::perms::owner_all);
    auto pool = value_of(open("stock.set"));
    const auto old_attributes = pool.attributes();
    auto attributes = old_attributes;
    const auto give = [](auto& field, const Uuid& uuid) { std::ranges::copy(uuid, field); };
    give(attributes.poolset_uuid, random_uuid());
    give(attributes.uuid, random_uuid());
    std::ranges::copy(attributes.uuid, attributes.prev_uuid); // there is one replica
    std::ranges::copy(attributes.uuid, attributes.next_uuid);
    const auto images = record([&] { EXPECT_TRUE(succeeded(pool.set_attributes(attributes))); });
    ASSERT_TRUE(succeeded(pool.close()));
    for (std::size_t i = 1; i < images.size(); ++i) {
        put(torn(images[i - 1], images[i], 4)[3]);
        static_cast<void>(value_of(open("stock.set")));
        EXPECT_TRUE(pmempool("check stock.set")) << read_file(root / "sets/output");
        EXPECT_TRUE(pmempool("info stock.set"));
        EXPECT_FALSE(test::contains(read_file(root / "sets/output"), "[ERROR]"));
    }
    put(images[2]);
    EXPECT_FALSE(pmempool("check stock.set")) << "headers that differ";
}

} // namespace
} // namespace rpmem::target
