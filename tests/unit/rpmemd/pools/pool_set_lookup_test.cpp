// SPDX-License-Identifier: BSD-3-Clause
// Tests how names of pool sets are resolved below poolset-dir, with real directories and links. The
// test fails if a name leads out of the directory, if an unsuitable file is read, written or
// removed, if a hidden file is created, or if a pool set stays whose name is not durable.
#include "rpmemd/pools/pool_set_lookup.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

class PoolSetPath : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        fs::create_directory(options.poolset_dir / "sub");
        pool_set("inside.set", "2M @/inside\n");
        pool_set("sub/deep.set", "2M @/deep\n");
        write_file(root / "outside.set", "PMEMPOOLSET\n2M /outside\n");
    }

    // Returns the file name of the first part of the pool set.
    std::string loaded(const std::string& name) {
        const auto set = load_pool_set(options, name);
        EXPECT_TRUE(succeeded(set));
        return set ? set->parts[0].path.filename().native() : std::string();
    }
};

TEST_F(PoolSetPath, NamesBeneathAreFound) {
    EXPECT_EQ(loaded("inside.set"), "inside");
    EXPECT_EQ(loaded("sub/deep.set"), "deep");
    EXPECT_EQ(loaded("sub/../inside.set"), "inside");
}

TEST_F(PoolSetPath, MissingOnesAreMissing) {
    EXPECT_TRUE(failed(load_pool_set(options, "no.set"), ENOENT, "no.set"));
    EXPECT_TRUE(failed(load_pool_set(options, "no/no.set"), ENOENT));
    EXPECT_TRUE(failed(load_pool_set(options, "inside.set/x"), ENOENT));
    options.poolset_dir /= "gone";
    EXPECT_TRUE(failed(load_pool_set(options, "inside.set"), ENOENT, "gone"));
}

TEST_F(PoolSetPath, AbsoluteNamesAreRefusedAlways) {
    const auto name = (options.poolset_dir / "inside.set").native();
    EXPECT_TRUE(failed(load_pool_set(options, name), EBADF, "absolute"));
    options.allow_outside = true;
    EXPECT_TRUE(failed(load_pool_set(options, name), EBADF, "absolute"));
}

TEST_F(PoolSetPath, DotsAndSymbolicLinksDoNotLeadOut) {
    fs::create_symlink(root / "outside.set", options.poolset_dir / "absolute.set");
    fs::create_symlink("../outside.set", options.poolset_dir / "relative.set");
    fs::create_directory_symlink(root, options.poolset_dir / "up");
    for (const char* name : {"../outside.set", "sub/../../outside.set", "../sets/inside.set",
                             "absolute.set", "relative.set", "up/outside.set"})
        EXPECT_TRUE(failed(load_pool_set(options, name), EBADF, "leads out")) << name;
}

TEST_F(PoolSetPath, SymbolicLinksMayStayInside) {
    fs::create_symlink("sub/deep.set", options.poolset_dir / "link.set");
    EXPECT_EQ(loaded("link.set"), "deep");
    // poolset-dir itself may be a link, because the administrator has chosen it.
    fs::create_directory_symlink(options.poolset_dir, root / "link-to-sets");
    options.poolset_dir = root / "link-to-sets";
    EXPECT_EQ(loaded("inside.set"), "inside");
}

TEST_F(PoolSetPath, TheConfigurationMayAllowOutside) {
    options.allow_outside = true;
    fs::create_symlink(root / "outside.set", options.poolset_dir / "link.set");
    EXPECT_EQ(loaded("../outside.set"), "outside");
    EXPECT_EQ(loaded("link.set"), "outside");
    EXPECT_EQ(loaded("inside.set"), "inside");
}

TEST_F(PoolSetPath, OnlyRegularFilesOfSomeSizeAreRead) {
    ASSERT_EQ(mkfifo((options.poolset_dir / "fifo.set").c_str(), 0600), 0);
    for (const char* name : {"fifo.set", "sub", "."})
        EXPECT_TRUE(failed(load_pool_set(options, name), EINVAL, "regular")) << name;
    fs::resize_file(options.poolset_dir / "inside.set", std::uintmax_t{1} << 40);
    EXPECT_TRUE(failed(load_pool_set(options, "inside.set"), EINVAL, "larger"));
    pool_set("bad.set", "foo bar\n");
    EXPECT_TRUE(failed(load_pool_set(options, "bad.set"), EINVAL, "bad.set:2:"));
}

TEST_F(PoolSetPath, OddNamesAreRefused) {
    EXPECT_TRUE(failed(load_pool_set(options, ""), EINVAL, "empty"));
    EXPECT_TRUE(
        failed(load_pool_set(options, std::string_view("inside.set\0x", 12)), EINVAL, "NUL"));
    EXPECT_FALSE(load_pool_set(options, std::string(5000, 'x')));
}

TEST_F(PoolSetPath, UnlinkingStaysInsideToo) {
    fs::create_directory_symlink(root, options.poolset_dir / "up");
    EXPECT_TRUE(failed(unlink_pool_set(options, "../outside.set"), EBADF));
    EXPECT_TRUE(failed(unlink_pool_set(options, "up/outside.set"), EBADF));
    EXPECT_TRUE(fs::exists(root / "outside.set"));
    EXPECT_TRUE(succeeded(unlink_pool_set(options, "sub/deep.set")));
    EXPECT_FALSE(fs::exists(options.poolset_dir / "sub/deep.set"));
    EXPECT_TRUE(failed(unlink_pool_set(options, "sub/deep.set"), ENOENT));
}

// If poolset-dir is a home directory, the shell and sshd execute some of its hidden files. A link
// may lead to one, so the check is on the resolved path.
TEST_F(PoolSetPath, HiddenFilesAreNotMadeIfTheyAreRefused) {
    options.refuse_hidden = true;
    fs::create_directory(options.poolset_dir / ".ssh");
    fs::create_directory_symlink(".ssh", options.poolset_dir / "link");
    fs::create_directory_symlink("sub", options.poolset_dir / "good");
    const std::string text = "PMEMPOOLSET\n2M /srv/part\n";
    for (const char* name :
         {".rc", ".ssh/rc", "link/rc", "sub/.rc", "sub/../.rc", "good/../link/rc"}) {
        EXPECT_TRUE(failed(write_pool_set(options, name, text), EACCES, "hidden")) << name;
        EXPECT_TRUE(failed(check_new_part(options, name), EACCES, "hidden")) << name;
    }
    EXPECT_TRUE(fs::is_empty(options.poolset_dir / ".ssh"));
    EXPECT_TRUE(failed(write_pool_set(options, "../out", text), EBADF, "leads out"));
    EXPECT_TRUE(succeeded(write_pool_set(options, "good/a.set", text)));
    EXPECT_TRUE(fs::exists(options.poolset_dir / "sub/a.set"));
}

// The caller gets an error and may try again.
TEST_F(PoolSetPath, APoolSetWhoseNameIsNotDurableIsRemoved) {
    const std::string text = "PMEMPOOLSET\n2M /srv/part\n";
    auto& recorder = test::Recorder::instance();
    recorder.reset();
    recorder.fail(
        {.call = "fsync", .path = options.poolset_dir.native(), .number = 2, .code = EIO});
    EXPECT_TRUE(failed(write_pool_set(options, "new.set", text), EIO, "cannot write pool set"));
    EXPECT_FALSE(fs::exists(options.poolset_dir / "new.set"));
    recorder.reset();
    EXPECT_TRUE(succeeded(write_pool_set(options, "new.set", text)));
}

TEST_F(PoolSetPath, AFileThatIsThereIsNoNewPart) {
    options.refuse_hidden = true;
    fs::create_symlink("nowhere", options.poolset_dir / "dangling");
    EXPECT_TRUE(failed(check_new_part(options, "inside.set"), EACCES, "there already"));
    EXPECT_TRUE(failed(check_new_part(options, "dangling"), EACCES, "there already"));
    EXPECT_TRUE(succeeded(check_new_part(options, "sub/new")));
}

} // namespace
} // namespace rpmem::target
