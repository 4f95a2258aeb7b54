// SPDX-License-Identifier: BSD-3-Clause
// Tests which parts and pool sets are refused because another user could change them. Each layout
// is a real directory with modes, owners, links or ACLs. The test fails if a file is used that
// others could change or exchange, if a safe one is refused, or if the error has no remedy.
#include "rpmemd/pools/files/trusted_path.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

constexpr uid_t stranger = 4242;

// An ACL with an entry for one user or group, and entries for the group of the file and the mask.
struct Acl {
    std::uint16_t tag;
    std::uint32_t id;
    std::uint16_t permissions;
    std::uint16_t mask;
    std::uint16_t group = ACL_READ;
};

void set_acl(const fs::path& path, const Acl& acl) {
    struct {
        posix_acl_xattr_header header;
        posix_acl_xattr_entry entries[5];
    } bytes{};
    const auto none = static_cast<std::uint32_t>(ACL_UNDEFINED_ID);
    const auto entry = [](std::uint16_t tag, std::uint16_t permissions, std::uint32_t id) {
        return posix_acl_xattr_entry{htole16(tag), htole16(permissions), htole32(id)};
    };
    bytes.header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
    bytes.entries[0] = entry(ACL_USER_OBJ, 7, none);
    const auto named = entry(acl.tag, acl.permissions, acl.id);
    const auto group = entry(ACL_GROUP_OBJ, acl.group, none);
    bytes.entries[1] = acl.tag == ACL_USER ? named : group; // sorted by tag
    bytes.entries[2] = acl.tag == ACL_USER ? group : named;
    bytes.entries[3] = entry(ACL_MASK, acl.mask, none);
    bytes.entries[4] = entry(ACL_OTHER, 0, none);
    ASSERT_EQ(setxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, &bytes, sizeof(bytes), 0), 0)
        << path << ": " << strerror(errno);
}

using Arrange = std::function<void(const fs::path&)>; // its argument is the directory of the test

struct Layout {
    const char* name;
    Arrange arrange;
    const char* path; // relative to the directory
    int code;         // errno value of the refusal, or 0
    std::string text; // error text, in which "@" is the directory
};

Layout used(const char* name, Arrange arrange, const char* path = "dir/file") {
    return {.name = name, .arrange = std::move(arrange), .path = path, .code = 0, .text = ""};
}
Layout refused(const char* name, Arrange arrange, std::string text, const char* path = "dir/file",
               int code = EACCES) {
    return {name, std::move(arrange), path, code, std::move(text)};
}

std::ostream& operator<<(std::ostream& stream, const Layout& layout) {
    return stream << layout.name;
}

auto mode(const char* what, mode_t value) {
    return [=](const fs::path& at) { ASSERT_EQ(chmod((at / what).c_str(), value), 0); };
}
auto owner(const char* what) {
    return
        [=](const fs::path& at) { ASSERT_EQ(lchown((at / what).c_str(), stranger, stranger), 0); };
}
auto acl(const char* what, Acl value) {
    return [=](const fs::path& at) { set_acl(at / what, value); };
}
auto link(const char* target, const char* name = "link") {
    return [=](const fs::path& at) { fs::create_symlink(target, at / name); };
}
auto kind(int (*make)(const fs::path&)) {
    return [=](const fs::path& at) {
        fs::remove(at / "dir/file");
        ASSERT_EQ(make(at / "dir/file"), 0);
    };
}
template <typename... Steps>
auto all(Steps... steps) {
    return [=](const fs::path& at) { (steps(at), ...); };
}
void nothing(const fs::path&) {}

// At first "dir" and "good" both have a "file", and only this user may change them.
const Layout layouts[] = {
    used("OursAlone", nothing),
    used("ReadByAll", all(mode("dir/file", 0644), mode("dir", 0755))),
    used("SetGroupId", mode("dir", 02755)),
    refused("DirectoryOfGroup", mode("dir", 0775), "chmod go-w @/dir"),
    refused("DirectoryOfAll", mode("dir", 0757), "everybody may write to @/dir (mode 0757)"),
    used("StickyDirectory", mode("dir", 01777)),
    refused("DirectoryOfAnother", owner("dir"),
            "@/dir belongs to user 4242, who could change it at any time; use a directory"),
    refused("StickyDirectoryOfAnother", all(mode("dir", 01777), owner("dir")),
            "@/dir belongs to user 4242"),
    refused("FileOfGroup", mode("dir/file", 0660), "chmod go-w @/dir/file"),
    refused("FileOfAll", mode("dir/file", 0602), "everybody may write"),
    refused("FileOfAnother", owner("dir/file"), fmt::format("chown {} @/dir/file", geteuid())),
    refused("FileOfAnotherInSticky", all(mode("dir", 01777), owner("dir/file")),
            "@/dir/file belongs to user 4242"),
    refused("DirectoryOfAnotherInSticky", all(mode(".", 01777), owner("dir")),
            "@/dir belongs to user 4242"),
    used("LinkIntoGood", link("dir/file"), "link"),
    used("LinkToDirectory", link("dir"), "link/file"),
    used("LinkUpAndDown", link("../dir/file", "good/link"), "good/link"),
    used("ChainOfLinks", all(link("dir", "one"), link("one", "two")), "two/file"),
    refused("LinkToFileOfAll", all(link("dir/file"), mode("dir/file", 0666)), "everybody", "link"),
    refused("LinkIntoDirectoryOfAll", all(link("dir/file"), mode("dir", 0777)), "@/dir ", "link"),
    refused("LinkInDirectoryOfAll", all(link("../good/file", "dir/link"), mode("dir", 0777)),
            "@/dir ", "dir/link"),
    used("OwnLinkInSticky", all(link("../good/file", "dir/link"), mode("dir", 01777)), "dir/link"),
    refused("LinkOfAnotherInSticky",
            all(link("../good/file", "dir/link"), mode("dir", 01777), owner("dir/link")),
            "@/dir/link belongs to user 4242", "dir/link"),
    refused("UpThroughDirectoryOfAll", mode("dir", 0777), "@/dir ", "dir/../good/file"),
    used("Dots", nothing, "./dir/../good/./file"),
    refused("LinkToItself", link("link"), "Too many levels", "link", EINVAL),
    refused("DanglingLink", link("nowhere"), "", "link", ENOENT),
    refused("MissingDirectory", nothing, "@/none: No such file or directory", "none/file", ENOENT),
    refused("FileAsDirectory", nothing, "@/dir/file: Not a directory", "dir/file/more", ENOENT),
    refused("Fifo", kind([](const fs::path& at) { return mkfifo(at.c_str(), 0600); }),
            "regular file", "dir/file", EINVAL),
    refused("Directory", kind([](const fs::path& at) { return mkdir(at.c_str(), 0700); }), "",
            "dir/file", EINVAL),
    refused("UserInAcl", acl("dir/file", {ACL_USER, stranger, 6, 6}),
            "user 4242 (by an ACL) may write to @/dir/file"),
    used("UserInAclMasked", acl("dir/file", {ACL_USER, stranger, 6, 4})),
    used("UserInAclReads", acl("dir/file", {ACL_USER, stranger, 4, 6})),
    used("OurselvesInAcl", acl("dir/file", {ACL_USER, geteuid(), 6, 6})),
    refused("GroupInAcl", acl("dir/file", {ACL_GROUP, 50, 6, 6}), "group 50 (by an ACL)"),
    refused("OwnGroupInAcl", acl("dir/file", {ACL_USER, stranger, 4, 6, 6}), "its group"),
    refused("DirectoryAcl", acl("dir", {ACL_USER, stranger, 7, 7}),
            "user 4242 (by an ACL) may write to @/dir "),
};

class TrustedPath : public testing::TestWithParam<Layout> {
protected:
    void SetUp() override {
        if (geteuid() != 0 && needs_root())
            GTEST_SKIP() << "only root can give a file to another user";
        for (const auto* directory : {"dir", "good"}) {
            fs::create_directory(root / directory);
            write_file(root / directory / "file", "PMEMPOOLSET\n2M /part\n");
            fs::permissions(root / directory / "file", fs::perms(0600));
        }
    }
    static bool needs_root() {
        return test::contains(GetParam().text, "user 4242") || GetParam().text.starts_with("chown");
    }

    template <typename T>
    void expect_outcome(const Result<T>& result) {
        std::string text = GetParam().text;
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@'))
            text.replace(at, 1, root.native());
        if (GetParam().code == 0)
            EXPECT_TRUE(succeeded(result));
        else
            EXPECT_TRUE(failed(result, GetParam().code, text));
    }

    const test::TemporaryDirectory temporary;
    const fs::path root = temporary.path();
};

TEST_P(TrustedPath, DecidesOnParts) {
    GetParam().arrange(root);
    expect_outcome(PartFile::open(root / GetParam().path));
}

TEST_P(TrustedPath, DecidesOnPoolSets) {
    GetParam().arrange(root);
    PoolOptions options;
    options.poolset_dir = root;
    Log log;
    const auto opened = open_pool(options, GetParam().path, 0, log);
    ASSERT_FALSE(opened);
    if (GetParam().code == 0)
        EXPECT_TRUE(failed(opened, ENOENT, "cannot open part /part")) << "the set was read";
    else if (GetParam().code == EACCES)
        expect_outcome(opened);
    else
        EXPECT_FALSE(test::contains(opened.error().text, "/part"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, TrustedPath, testing::ValuesIn(layouts));

class PartModes : public PoolFixture {};

TEST_F(PartModes, NewPartsHaveTheModeThatIsSetLessTheUmask) {
    struct Case {
        mode_t part_mode, umask, result;
    };
    pool_set("pool.set", "2M @/part0\n");
    for (const Case& each : {Case{0600, 0, 0600}, Case{0600, 022, 0600}, Case{0660, 0, 0660},
                             Case{0660, 027, 0640}, Case{0666, 02, 0664}}) {
        options.part_mode = each.part_mode;
        const mode_t before = umask(each.umask);
        auto pool = create();
        umask(before);
        ASSERT_TRUE(succeeded(pool));
        struct stat made {};
        ASSERT_EQ(stat(part("part0").c_str(), &made), 0);
        EXPECT_EQ(made.st_mode & 07777, each.result);
        ASSERT_TRUE(succeeded(pool->close()));
        EXPECT_TRUE(succeeded(open())) << "what it made, it opens";
        ASSERT_TRUE(succeeded(remove()));
    }
}

TEST_F(PartModes, WhatNewPartsMayLetOthersDoOldOnesMayToo) {
    pool_set("pool.set", "2M @/part0\n");
    ASSERT_TRUE(succeeded(create()));
    fs::permissions(part("part0"), fs::perms(0660));
    EXPECT_TRUE(failed(open(), EACCES));
    options.part_mode = 0660;
    EXPECT_TRUE(succeeded(open()));
    fs::permissions(part("part0"), fs::perms(0666));
    EXPECT_TRUE(failed(open(), EACCES, "everybody"));
}

// A user who may write to the directory could exchange the new part.
TEST_F(PartModes, NothingIsMadeWhereOthersMayWrite) {
    pool_set("pool.set", "2M @/shared/part0\n");
    fs::create_directory(part("shared"));
    fs::permissions(part("shared"), fs::perms(0777));
    EXPECT_TRUE(failed(create(), EACCES, "chmod go-w"));
    EXPECT_TRUE(fs::is_empty(part("shared")));
    fs::permissions(part("shared"), fs::perms(01777));
    EXPECT_TRUE(succeeded(create()));
}

// The directory that was checked stays open until it is used.
TEST(TrustedPlaces, AnExchangedDirectoryIsNotUsed) {
    const test::TemporaryDirectory temporary;
    const fs::path root = temporary.path();
    fs::create_directory(root / "dir");
    write_file(root / "dir/file", "checked");
    const auto place = value_of(find_place(root / "dir/file"));
    fs::rename(root / "dir", root / "moved");
    fs::create_directory(root / "dir");
    write_file(root / "dir/file", "exchanged");
    char text[7] = {};
    const UniqueFd file = open_place(place, O_RDONLY);
    EXPECT_EQ(read(file.get(), text, sizeof(text)), 7);
    EXPECT_EQ(std::string(text, 7), "checked");
    // A link that has replaced the file is not followed.
    fs::remove(root / "moved/file");
    fs::create_symlink(root / "dir/file", root / "moved/file");
    EXPECT_FALSE(open_place(place, O_RDONLY));
}

} // namespace
} // namespace rpmem::target
