// SPDX-License-Identifier: BSD-3-Clause
// Tests the first page of a pool that is catching up. Each write that a kill or a power failure may
// interrupt is torn as in cut_fixture.hpp, put on the medium, and opened. The test fails if stock
// pmempool(1) accepts a hidden pool or refuses a shown one, if our own functions disagree about the
// header, if the page appears before the pool is in sync, if it is not the same bytes afterwards,
// or if a page that the initiator has sent is replaced.
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/pools/headers/first_page.hpp"
#include "tests/unit/rpmemd/pools/headers/cut_fixture.hpp"

#include <sys/xattr.h>

#include <algorithm>
#include <utility>

namespace rpmem::target {
namespace {

struct HiddenLayout {
    const char* name;
    const char* text; // contents of the pool set file
    std::uint32_t incompat;
};
std::ostream& operator<<(std::ostream& stream, const HiddenLayout& layout) {
    return stream << layout.name;
}

constexpr const char* hidden_pool = "2M @/part0\n";
constexpr HiddenLayout hidden_layouts[] = {
    {"OnePart", hidden_pool, feature::incompat_checksum_2k},
    {"OnePartWithState", hidden_pool,
     feature::incompat_checksum_2k | feature::incompat_shutdown_state},
    {"OnePartAllCovered", hidden_pool, feature::incompat_shutdown_state},
    {"TwoParts", "2M @/part0\n2M @/part1\n", feature::incompat_checksum_2k},
    {"SingleHeader", "OPTION SINGLEHDR\n2M @/part0\n2M @/part1\n",
     feature::incompat_checksum_2k | feature::incompat_single_header},
};

const std::string zeros(header_size, '\0');

class HiddenCuts : public CutFixture, public testing::WithParamInterface<HiddenLayout> {
protected:
    void SetUp() override {
        CutFixture::SetUp();
        pool_set("pool.set", GetParam().text);
        ASSERT_TRUE(succeeded(value_of(create("pool.set", 0, attributes())).close()));
        shown_ = page();
    }
    [[nodiscard]] rpmem_pool_attr attributes(unsigned char base = 0x10) const {
        return golden_attributes(GetParam().incompat, base);
    }
    [[nodiscard]] std::string page() const { return header_page(part("part0")); }
    void hide() {
        auto pool = value_of(open());
        ASSERT_TRUE(succeeded(pool.hide_first_page()));
        ASSERT_TRUE(succeeded(pool.close()));
        ASSERT_EQ(page(), zeros);
    }
    // Expects that every function finds one of WANTED, and returns it.
    rpmem_pool_attr found(const std::vector<rpmem_pool_attr>& wanted) {
        options.read_only = true;
        const auto before = image();
        const auto read = value_of(open()).attributes();
        EXPECT_EQ(image(), before) << "a reader has written";
        options.read_only = false;
        const auto facts = value_of(examine_pool(options, "pool.set"));
        EXPECT_TRUE(facts.header.has_value()) << facts.header_problem;
        if (facts.header) {
            EXPECT_TRUE(same_attributes(attributes_of(*facts.header), read));
        }
        EXPECT_TRUE(std::ranges::any_of(
            wanted, [&](const auto& each) { return same_attributes(each, read); }));
        return read;
    }
    // Expects that a writer leaves the page hidden or whole, and that it can be hidden and shown.
    void check() {
        found({attributes()});
        {
            auto pool = value_of(open());
            EXPECT_TRUE(same_attributes(pool.attributes(), attributes()));
            EXPECT_EQ(pool.hides_first_page(), page() == zeros);
        }
        EXPECT_TRUE(page() == zeros || page() == shown_);
        hide();
        found({attributes()});
        auto pool = value_of(open());
        EXPECT_EQ(page(), zeros);
        EXPECT_TRUE(succeeded(pool.show_first_page()));
        EXPECT_TRUE(succeeded(pool.close()));
        EXPECT_EQ(page(), shown_);
    }

    std::string shown_; // the page of the closed pool
};

TEST_P(HiddenCuts, OfHidingLeaveAPool) {
    auto pool = value_of(open());
    const auto images = record([&] { EXPECT_TRUE(succeeded(pool.hide_first_page())); });
    ASSERT_TRUE(succeeded(pool.close()));
    ASSERT_EQ(images.size(), 4U) << "the copy, the zeros, and the copy";
    EXPECT_NE(images[1].at(part("part0")), zeros);
    EXPECT_EQ(images[2].at(part("part0")), zeros);
    for_each_cut(images, 12, [&] { check(); });
}

TEST_P(HiddenCuts, OfShowingLeaveAPool) {
    hide();
    auto pool = value_of(open());
    const auto images = record([&] { EXPECT_TRUE(succeeded(pool.show_first_page())); });
    ASSERT_TRUE(succeeded(pool.close()));
    ASSERT_EQ(images.size(), 3U) << "the page, and the copy";
    for_each_cut(images, 12, [&] { check(); });
}

TEST_P(HiddenCuts, OfNewAttributesStayHidden) {
    hide();
    auto pool = value_of(open());
    const auto images =
        record([&] { EXPECT_TRUE(succeeded(pool.set_attributes(attributes(0x80)))); });
    ASSERT_TRUE(succeeded(pool.close()));
    ASSERT_GT(images.size(), 2U);
    for_each_cut(images, 8, [&] {
        EXPECT_EQ(page(), zeros);
        EXPECT_TRUE(succeeded(open()));
        EXPECT_EQ(page(), zeros);
        found({attributes(), attributes(0x80)});
    });
    put(images.back());
    auto again = value_of(open());
    EXPECT_TRUE(same_attributes(again.attributes(), attributes(0x80)));
    EXPECT_TRUE(succeeded(again.show_first_page()));
    EXPECT_TRUE(succeeded(again.close()));
    EXPECT_TRUE(same_attributes(attributes_of(header_of(page())), attributes(0x80)));
}

TEST_P(HiddenCuts, OfTheShutdownStateStayHidden) {
    hide();
    const auto images = record([&] { EXPECT_TRUE(succeeded(value_of(open()).close())); });
    EXPECT_EQ(images.size() > 1, (GetParam().incompat & feature::incompat_shutdown_state) != 0);
    for_each_cut(images, 12, [&] {
        EXPECT_EQ(page(), zeros);
        check();
    });
}

INSTANTIATE_TEST_SUITE_P(Layouts, HiddenCuts, testing::ValuesIn(hidden_layouts),
                         [](const auto& each) { return std::string(each.param.name); });

class HiddenPage : public CutFixture {
protected:
    [[nodiscard]] std::string page() const { return header_page(part("part0")); }
    void hide() {
        auto pool = value_of(open());
        ASSERT_TRUE(succeeded(pool.hide_first_page()));
        ASSERT_TRUE(succeeded(pool.close()));
    }
    void put_page(const std::string& bytes) const {
        const UniqueFd file(::open(part("part0").c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
    }
    void make_pool() {
        pool_set("pool.set", hidden_pool);
        ASSERT_TRUE(succeeded(value_of(create()).close()));
    }
};

TEST_F(HiddenPage, WithoutADirectoryForItIsNotHidden) {
    make_pool();
    const std::string before = page();
    options.header_copies = -1;
    auto pool = value_of(open());
    EXPECT_TRUE(succeeded(pool.hide_first_page()));
    EXPECT_EQ(page(), before);
}

TEST_F(HiddenPage, ThatCannotBeSavedIsNotHidden) {
    make_pool();
    const std::string before = page();
    for (const char* call : {"pwrite", "fdatasync"}) {
        auto pool = value_of(open());
        test::Recorder::instance().fail({call, "/page-", 1, ENOSPC});
        EXPECT_TRUE(succeeded(pool.hide_first_page()));
        test::Recorder::instance().reset();
        EXPECT_EQ(page(), before);
        EXPECT_FALSE(pool.hides_first_page());
    }
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(page(), before);
}

TEST_F(HiddenPage, OfAnotherDirectoryIsNotFound) {
    make_pool();
    hide();
    ASSERT_EQ(page(), zeros);
    const std::string value = "damaged";
    if (::setxattr(part("part0").c_str(), pool_attribute_name, value.data(), value.size(), 0) != 0)
        GTEST_SKIP() << "no user attributes: " << strerrordesc_np(errno);
    const int directory = std::exchange(options.header_copies, -1);
    const auto refused = open();
    EXPECT_TRUE(failed(refused, EINVAL, "its first page is in another state-dir"));
    EXPECT_EQ(refused.error().kind, ErrorClass::resource_limit) << "a program would give up";
    EXPECT_EQ(page(), zeros);
    options.header_copies = directory;
    EXPECT_TRUE(succeeded(open()));
}

// Later changes of the header go to the part, and the saved page does not come back.
TEST_F(HiddenPage, ThatCannotBeDiscardedIsNotUsedAgain) {
    make_pool();
    hide();
    auto pool = value_of(open());
    test::Recorder::instance().fail({"pwrite", "/page-", 1, EIO});
    EXPECT_TRUE(failed(pool.show_first_page(), EIO));
    test::Recorder::instance().reset();
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(2, 0x80))));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_TRUE(same_attributes(value_of(open()).attributes(), golden_attributes(2, 0x80)));
}

TEST_F(HiddenPage, IsNoPlaceForANewPool) {
    make_pool();
    hide();
    EXPECT_TRUE(failed(create(), EEXIST, "holds a pool that is catching up"));
    EXPECT_TRUE(succeeded(open()));
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(has("part0"));
    EXPECT_TRUE(std::filesystem::is_empty(root / "state"));
    EXPECT_TRUE(succeeded(create()));
}

// A later version may have saved the page in a format that this one would overwrite.
TEST_F(HiddenPage, OfALaterFormatRefusesWritersAndStays) {
    make_pool();
    const std::string before = page();
    pool_set("new.set", "2M @/new\n");
    const std::string later = "RPMPAGE2" + std::string(4 * header_size - 8, 'x');
    const auto file_of = [&](const char* name) {
        return root / "state" / FirstPageFile::name_for(options.poolset_dir / name);
    };
    for (const char* const name : {"pool.set", "new.set"}) {
        write_file(file_of(name), later);
        const auto refused = name == std::string("new.set") ? create(name) : open(name);
        EXPECT_TRUE(failed(refused, ENOTSUP, file_of(name).filename().native()));
        EXPECT_TRUE(
            failed(refused, ENOTSUP, "format 2, but this rpmemd knows formats only up to 1"));
        EXPECT_EQ(read_file(file_of(name)), later);
    }
    EXPECT_FALSE(has("new"));
    options.read_only = true;
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(page(), before);
}

TEST_F(HiddenPage, OfARemovedPartIsNotUsed) {
    make_pool();
    hide();
    std::filesystem::rename(part("part0"), part("former")); // its inode is not used again
    ASSERT_TRUE(succeeded(value_of(create("pool.set", 0, golden_attributes(2, 0x80))).close()));
    EXPECT_TRUE(same_attributes(value_of(open()).attributes(), golden_attributes(2, 0x80)));
}

TEST_F(HiddenPage, IsGivenUpForAPoolOfAnotherProgram) {
    make_pool();
    const PoolHeader former = header_of(page());
    hide();
    PoolHeader other = former;
    other.creation_time ^= 0x5a5a;
    seal(other);
    put_page(bytes_of(other));
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(page(), bytes_of(other));
    put_page(zeros);
    EXPECT_TRUE(failed(open(), EINVAL)) << "the saved page is still used";
}

// A pool without headers. The initiator sends its first page.
class HiddenData : public HiddenPage {
protected:
    void SetUp() override {
        HiddenPage::SetUp();
        pool_set("pool.set", "OPTION NOHDRS\n2M @/part0\n2M @/part1\n");
        make_part("part0", 2 * MiB, data_);
        make_part("part1", 2 * MiB);
    }
    void send(Pool& pool, const std::string& bytes) {
        std::memcpy(pool.address(), bytes.data(), bytes.size());
        ASSERT_EQ(pool.medium().persist(pool.address(), bytes.size()), 0);
    }
    // Expects that the former page can be restored.
    void check() {
        options.read_only = true;
        EXPECT_TRUE(succeeded(open()));
        options.read_only = false;
        auto pool = value_of(open());
        EXPECT_EQ(page(), pool.hides_first_page() ? zeros : data_);
        EXPECT_TRUE(succeeded(pool.restore_first_page()));
        EXPECT_EQ(page(), data_);
        EXPECT_TRUE(succeeded(pool.close()));
    }

    const std::string data_ = "first" + std::string(header_size - 9, 'd') + "last";
};

TEST_F(HiddenData, IsRestoredAfterEachCut) {
    auto pool = value_of(open());
    const auto hiding = record([&] { EXPECT_TRUE(succeeded(pool.hide_first_page())); });
    ASSERT_EQ(hiding.size(), 4U);
    ASSERT_TRUE(succeeded(pool.close()));
    for_each_cut(hiding, 12, [&] { check(); });
    put(hiding.back());
    auto again = value_of(open());
    const auto showing = record([&] { EXPECT_TRUE(succeeded(again.restore_first_page())); });
    ASSERT_EQ(showing.size(), 4U);
    ASSERT_TRUE(succeeded(again.close()));
    for_each_cut(showing, 12, [&] {
        auto cut = value_of(open());
        EXPECT_TRUE(succeeded(cut.restore_first_page()));
        EXPECT_EQ(page(), data_);
    });
}

// The page that was sent differs from the former one by zeros only, as after an interrupted change.
TEST_F(HiddenData, ThatTheInitiatorHasSentStays) {
    std::string sent = data_;
    sent.replace(100, 200, 200, '\0');
    for (const bool is_lost : {false, true}) {
        hide();
        auto pool = value_of(open());
        send(pool, sent);
        if (is_lost) { // the session ends before the record says that the pool is in sync
            ASSERT_TRUE(succeeded(pool.close()));
            pool = value_of(open());
        }
        EXPECT_EQ(page(), sent);
        EXPECT_TRUE(succeeded(pool.show_first_page()));
        ASSERT_TRUE(succeeded(pool.close()));
        EXPECT_EQ(page(), sent);
        EXPECT_TRUE(succeeded(open()));
        EXPECT_EQ(page(), sent);
        put_page(data_);
    }
}

// An accept keeps it, too.
TEST_F(HiddenData, ThatTheInitiatorHasSentIsNotReplacedByAnAccept) {
    std::string sent = data_;
    sent.replace(100, 200, 200, '\0');
    hide();
    auto pool = value_of(open());
    send(pool, sent);
    ASSERT_TRUE(succeeded(pool.close()));
    pool = value_of(open());
    EXPECT_TRUE(succeeded(pool.restore_first_page()));
    EXPECT_EQ(page(), sent);
}

TEST_F(HiddenData, ThatWasSentIsHiddenAgainAndRestored) {
    const std::string sent(header_size, 's');
    hide();
    auto pool = value_of(open());
    EXPECT_TRUE(succeeded(pool.hide_first_page()));
    EXPECT_EQ(page(), zeros);
    send(pool, sent);
    EXPECT_TRUE(succeeded(pool.hide_first_page())); // a call has ended the join
    EXPECT_EQ(page(), zeros);
    EXPECT_TRUE(succeeded(pool.restore_first_page()));
    EXPECT_EQ(page(), sent);
    ASSERT_TRUE(succeeded(pool.close()));
    hide();
    pool = value_of(open());
    send(pool, data_);
    EXPECT_TRUE(succeeded(pool.restore_first_page()));
    EXPECT_EQ(page(), data_) << "a page that was sent is the newer one";
}

TEST_F(StockCuts, AHiddenPoolIsNoneToPmempool) {
    pool_set("stock.set", "8M @/part0\n8M @/part1\n");
    ASSERT_TRUE(pmempool("create obj stock.set")) << "pmempool(1) is needed";
    for (const auto* name : {"part0", "part1"})
        std::filesystem::permissions(part(name), std::filesystem::perms::owner_all);
    ASSERT_TRUE(succeeded(value_of(open("stock.set")).close()));
    const std::string before = read_file(part("part0"));
    ASSERT_TRUE(pmempool("check stock.set"));
    auto pool = value_of(open("stock.set"));
    ASSERT_TRUE(succeeded(pool.hide_first_page()));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_FALSE(pmempool("check stock.set"));
    pool = value_of(open("stock.set"));
    ASSERT_TRUE(succeeded(pool.show_first_page()));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_TRUE(pmempool("check stock.set")) << read_file(root / "sets/output");
    EXPECT_EQ(read_file(part("part0")), before);
}

} // namespace
} // namespace rpmem::target
