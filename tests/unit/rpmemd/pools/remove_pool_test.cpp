// SPDX-License-Identifier: BSD-3-Clause
// Tests remove_pool() on real files, with and without force. The test fails if a part stays that
// must be removed, if a part is removed that is in use, of another pool or of another user, if a
// file outside of poolset-dir or one that is no pool set file is removed, or if an error is lost.
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

class RemovePool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    }
    void create_and_close() { ASSERT_TRUE(succeeded(create())); }
    // Removes all with force, which must succeed. Returns the errors that were ignored.
    std::string notes_of_forced(const std::string& name) {
        std::string notes;
        const auto note = [&](const std::string& text) { notes += text + '\n'; };
        const RemoveOptions forced{.force = true, .pool_set = true, .note = note};
        EXPECT_TRUE(succeeded(remove(name, forced)));
        return notes;
    }
    [[nodiscard]] bool has_set() const { return fs::exists(options.poolset_dir / "pool.set"); }
};

TEST_F(RemovePool, RemovesThePartsAndOnRequestThePoolSetFile) {
    for (const RemoveOptions& flags : {RemoveOptions{}, RemoveOptions{.pool_set = true},
                                       RemoveOptions{.force = true, .pool_set = true}}) {
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
        create_and_close();
        EXPECT_TRUE(succeeded(remove("pool.set", flags)));
        EXPECT_FALSE(has("part0") || has("part1"));
        EXPECT_EQ(has_set(), !flags.pool_set);
    }
}

TEST_F(RemovePool, AMissingPartIsReportedWhenTheOthersAreRemoved) {
    for (const std::string missing : {"part0", "part1"}) {
        create_and_close();
        fs::remove(part(missing));
        EXPECT_TRUE(failed(remove("pool.set", {.pool_set = true}), ENOENT, missing));
        EXPECT_FALSE(has("part0") || has("part1"));
        EXPECT_TRUE(has_set());
    }
    EXPECT_TRUE(failed(remove(), ENOENT, "part0"));
    const auto notes = notes_of_forced("pool.set");
    EXPECT_TRUE(test::contains(notes, "part0"));
    EXPECT_TRUE(test::contains(notes, "part1"));
}

// Any other fault of a part must be found before a part is removed.
TEST_F(RemovePool, APartThatCannotBeUsedKeepsTheOthers) {
    create_and_close();
    fs::permissions(part("part1"), fs::perms(0666));
    EXPECT_TRUE(failed(remove(), EACCES, "chmod go-w " + part("part1").native()));
    EXPECT_TRUE(has("part0"));
    fs::remove(part("part1"));
    fs::create_symlink("/dev/null", part("part1"));
    EXPECT_TRUE(failed(remove(), EINVAL, "part1"));
    EXPECT_TRUE(has("part0"));
}

TEST_F(RemovePool, APartWithTheHeaderOfAnotherPoolSetIsLeftAlone) {
    pool_set("other.set", "2M @/part1\n");
    auto attributes = golden_attributes(2);
    std::fill(std::begin(attributes.poolset_uuid), std::end(attributes.poolset_uuid), 0x99);
    create_and_close();
    fs::remove(part("part1"));
    ASSERT_TRUE(succeeded(create("other.set", 0, attributes)));
    EXPECT_TRUE(failed(remove(), EINVAL, "names another pool set"));
    EXPECT_TRUE(has("part0"));
    EXPECT_TRUE(test::contains(notes_of_forced("pool.set"), "names another pool set"));
    EXPECT_FALSE(has("part0"));
    EXPECT_TRUE(has("part1"));
    EXPECT_TRUE(succeeded(open("other.set")));
    // An invalid header names no pool set.
    std::fstream(part("part1"), std::ios::in | std::ios::out | std::ios::binary).put('?');
    make_part("part0", 2 * MiB);
    pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(has("part1"));
}

TEST_F(RemovePool, APartWithoutAHeaderMustBeTheUsersOwn) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root can pretend to be another user";
    pool_set("pool.set", "OPTION NOHDRS\n2M @/part0\n2M @/part1\n");
    make_part("part0", 2 * MiB);
    make_part("part1", 2 * MiB);
    constexpr uid_t stranger = 4242;
    for (const auto& path :
         {root, options.poolset_dir, options.poolset_dir / "pool.set", part("part1")})
        ASSERT_EQ(chown(path.c_str(), stranger, stranger), 0);
    fs::permissions(part("part0"), fs::perms(0666)); // this part belongs to root
    options.part_mode = 0666;
    ASSERT_EQ(seteuid(stranger), 0);
    const auto removed = remove();
    const auto note = notes_of_forced("pool.set");
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_TRUE(failed(removed, EACCES, "part0"));
    EXPECT_TRUE(test::contains(note, "belongs to user 0"));
    EXPECT_TRUE(has("part0"));
    EXPECT_FALSE(has("part1"));
}

TEST_F(RemovePool, OnlyWhatBeginsAsAPoolSetFileIsRemovedAsOne) {
    write_file(options.poolset_dir / "secrets", "2M /part\n");
    EXPECT_TRUE(test::contains(notes_of_forced("secrets"), "no pool set file"));
    EXPECT_TRUE(failed(remove("secrets", {.pool_set = true}), EINVAL, "not a pool set file"));
    EXPECT_TRUE(fs::exists(options.poolset_dir / "secrets"));
}

TEST_F(RemovePool, APartInUseIsNeverRemoved) {
    auto pool = value_of(create());
    EXPECT_TRUE(failed(remove(), EAGAIN));
    EXPECT_TRUE(succeeded(remove("pool.set", {.force = true})));
    EXPECT_TRUE(has("part0") && has("part1"));
}

TEST_F(RemovePool, MissingAndBrokenPoolSets) {
    EXPECT_TRUE(failed(remove("no.set"), ENOENT, "no.set"));
    EXPECT_TRUE(succeeded(remove("no.set", {.force = true})));
    EXPECT_TRUE(test::contains(notes_of_forced("no.set"), "No such file"));
    pool_set("bad.set", "foo bar\n");
    EXPECT_TRUE(failed(remove("bad.set", {.pool_set = true}), EINVAL, "bad.set:2:"));
    EXPECT_TRUE(fs::exists(options.poolset_dir / "bad.set"));
    EXPECT_TRUE(succeeded(remove("bad.set", {.force = true, .pool_set = true})));
    EXPECT_FALSE(fs::exists(options.poolset_dir / "bad.set"));
}

TEST_F(RemovePool, NamesThatLeadOutAreRefusedEvenIfForced) {
    create_and_close();
    const RemoveOptions all{.force = true, .pool_set = true};
    fs::rename(options.poolset_dir / "pool.set", root / "pool.set");
    EXPECT_TRUE(failed(remove("../pool.set", all), EBADF));
    EXPECT_TRUE(failed(remove((root / "pool.set").native(), all), EBADF));
    EXPECT_TRUE(has("part0"));
    EXPECT_TRUE(has("pool.set"));
}

TEST_F(RemovePool, APartWithoutAHeaderCanBeRemovedToo) {
    make_part("part0", 2 * MiB);
    make_part("part1", 10, "no pool");
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(has("part0") || has("part1"));
}

TEST_F(RemovePool, AnOpenPoolRemovesItself) {
    auto pool = value_of(create());
    EXPECT_TRUE(succeeded(pool.remove()));
    EXPECT_FALSE(has("part0") || has("part1"));
    EXPECT_TRUE(has_set());
    EXPECT_TRUE(succeeded(pool.remove())) << "once more does nothing";
    EXPECT_TRUE(succeeded(create()));
}

} // namespace
} // namespace rpmem::target
