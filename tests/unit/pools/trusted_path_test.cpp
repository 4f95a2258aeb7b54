// Parts and pool sets on paths of every kind: who may change a file or a directory on the way
// decides whether it is used.
#include "rpmemd/pools/trusted_path.hpp"
#include "tests/unit/pools/pool_fixture.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

constexpr uid_t stranger = 4242;

// An ACL for a file: what its owner, group and all others may do, and one named user or group.
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
    bytes.entries[1] = acl.tag == ACL_USER ? named : group; // they have an order
    bytes.entries[2] = acl.tag == ACL_USER ? group : named;
    bytes.entries[3] = entry(ACL_MASK, acl.mask, none);
    bytes.entries[4] = entry(ACL_OTHER, 0, none);
    ASSERT_EQ(setxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, &bytes, sizeof(bytes), 0), 0)
        << path << ": " << strerror(errno);
}

struct Layout {
    const char* name;
    std::function<void(const fs::path&)> arrange; // gets the directory of the case
    const char* path = "dir/file";                // in it
    int code = 0;                                 // 0: the file is used
    std::string text = "";                        // of the error; "@" is the directory
    mode_t part_mode = 0600;
};

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

// "dir" and "dir/file" are there, and belong to this user alone; so does "good".
const Layout layouts[] = {
    {.name = "OursAlone", .arrange = nothing},
    {.name = "ReadByAll", .arrange = all(mode("dir/file", 0644), mode("dir", 0755))},
    {.name = "SetGroupId", .arrange = mode("dir", 02755)},
    {.name = "DirectoryOfGroup",
     .arrange = mode("dir", 0775),
     .code = EACCES,
     .text = "chmod go-w @/dir"},
    {.name = "DirectoryOfAll",
     .arrange = mode("dir", 0757),
     .code = EACCES,
     .text = "everybody may write to @/dir (mode 0757)"},
    {.name = "StickyDirectory", .arrange = mode("dir", 01777)},
    {.name = "DirectoryOfAnother",
     .arrange = owner("dir"),
     .code = EACCES,
     .text = "@/dir belongs to user 4242"},
    {.name = "StickyDirectoryOfAnother",
     .arrange = all(mode("dir", 01777), owner("dir")),
     .code = EACCES,
     .text = "@/dir belongs to user 4242"},
    {.name = "FileOfGroup",
     .arrange = mode("dir/file", 0660),
     .code = EACCES,
     .text = "chmod go-w @/dir/file"},
    {.name = "FileOfAll",
     .arrange = mode("dir/file", 0602),
     .code = EACCES,
     .text = "everybody may write"},
    {.name = "FileOfAnother",
     .arrange = owner("dir/file"),
     .code = EACCES,
     .text = fmt::format("chown {} @/dir/file", geteuid())},
    {.name = "FileOfAnotherInSticky",
     .arrange = all(mode("dir", 01777), owner("dir/file")),
     .code = EACCES,
     .text = "@/dir/file belongs to user 4242"},
    {.name = "DirectoryOfAnotherInSticky",
     .arrange = all(mode(".", 01777), owner("dir")),
     .code = EACCES,
     .text = "@/dir belongs to user 4242"},
    {.name = "LinkIntoGood", .arrange = link("dir/file"), .path = "link"},
    {.name = "LinkToDirectory", .arrange = link("dir"), .path = "link/file"},
    {.name = "LinkUpAndDown", .arrange = link("../dir/file", "good/link"), .path = "good/link"},
    {.name = "ChainOfLinks",
     .arrange = all(link("dir", "one"), link("one", "two")),
     .path = "two/file"},
    {.name = "LinkToFileOfAll",
     .arrange = all(link("dir/file"), mode("dir/file", 0666)),
     .path = "link",
     .code = EACCES,
     .text = "everybody"},
    {.name = "LinkIntoDirectoryOfAll",
     .arrange = all(link("dir/file"), mode("dir", 0777)),
     .path = "link",
     .code = EACCES,
     .text = "@/dir "},
    {.name = "LinkInDirectoryOfAll",
     .arrange = all(link("../good/file", "dir/link"), mode("dir", 0777)),
     .path = "dir/link",
     .code = EACCES,
     .text = "@/dir "},
    {.name = "OwnLinkInSticky",
     .arrange = all(link("../good/file", "dir/link"), mode("dir", 01777)),
     .path = "dir/link"},
    {.name = "LinkOfAnotherInSticky",
     .arrange = all(link("../good/file", "dir/link"), mode("dir", 01777), owner("dir/link")),
     .path = "dir/link",
     .code = EACCES,
     .text = "@/dir/link belongs to user 4242"},
    {.name = "UpThroughDirectoryOfAll",
     .arrange = mode("dir", 0777),
     .path = "dir/../good/file",
     .code = EACCES,
     .text = "@/dir "},
    {.name = "Dots", .arrange = nothing, .path = "./dir/../good/./file"},
    {.name = "LinkToItself",
     .arrange = link("link"),
     .path = "link",
     .code = EINVAL,
     .text = "Too many levels"},
    {.name = "DanglingLink", .arrange = link("nowhere"), .path = "link", .code = ENOENT},
    {.name = "MissingDirectory",
     .arrange = nothing,
     .path = "none/file",
     .code = ENOENT,
     .text = "@/none: No such file or directory"},
    {.name = "FileAsDirectory",
     .arrange = nothing,
     .path = "dir/file/more",
     .code = ENOENT,
     .text = "@/dir/file: Not a directory"},
    {.name = "Fifo",
     .arrange = kind([](const fs::path& at) { return mkfifo(at.c_str(), 0600); }),
     .code = EINVAL,
     .text = "regular file"},
    {.name = "Directory",
     .arrange = kind([](const fs::path& at) { return mkdir(at.c_str(), 0700); }),
     .code = EINVAL},
    {.name = "UserInAcl",
     .arrange = acl("dir/file", {ACL_USER, stranger, 6, 6}),
     .code = EACCES,
     .text = "user 4242 (by an ACL) may write to @/dir/file"},
    {.name = "UserInAclMasked", .arrange = acl("dir/file", {ACL_USER, stranger, 6, 4})},
    {.name = "UserInAclReads", .arrange = acl("dir/file", {ACL_USER, stranger, 4, 6})},
    {.name = "OurselvesInAcl", .arrange = acl("dir/file", {ACL_USER, geteuid(), 6, 6})},
    {.name = "GroupInAcl",
     .arrange = acl("dir/file", {ACL_GROUP, 50, 6, 6}),
     .code = EACCES,
     .text = "group 50 (by an ACL)"},
    {.name = "OwnGroupInAcl",
     .arrange = acl("dir/file", {ACL_USER, stranger, 4, 6, 6}),
     .code = EACCES,
     .text = "its group"},
    {.name = "DirectoryAcl",
     .arrange = acl("dir", {ACL_USER, stranger, 7, 7}),
     .code = EACCES,
     .text = "user 4242 (by an ACL) may write to @/dir "},
};

class TrustedPath : public testing::TestWithParam<Layout> {
protected:
    void SetUp() override {
        if (geteuid() != 0 && needs_root())
            GTEST_SKIP() << "only root can give a file to another user";
        std::string name = fs::temp_directory_path() / "rpmem-paths-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root = name;
        for (const auto* directory : {"dir", "good"}) {
            fs::create_directory(root / directory);
            write_file(root / directory / "file", "PMEMPOOLSET\n2M /part\n");
            fs::permissions(root / directory / "file", fs::perms(0600));
        }
    }
    void TearDown() override {
        if (!root.empty())
            fs::remove_all(root);
    }

    static bool needs_root() {
        return GetParam().text.find("user 4242") != std::string::npos ||
               GetParam().text.starts_with("chown");
    }

    template <typename T>
    void expect_as_told(const Result<T>& result) {
        std::string text = GetParam().text;
        for (auto at = text.find('@'); at != std::string::npos; at = text.find('@'))
            text.replace(at, 1, root.native());
        if (GetParam().code == 0)
            EXPECT_TRUE(succeeded(result));
        else
            EXPECT_TRUE(failed(result, GetParam().code, text));
    }

    fs::path root;
};

TEST_P(TrustedPath, DecidesOnParts) {
    GetParam().arrange(root);
    expect_as_told(PartFile::open(root / GetParam().path));
}

TEST_P(TrustedPath, DecidesOnPoolSets) {
    GetParam().arrange(root);
    StoreOptions options;
    options.poolset_dir = root;
    Log log;
    const auto opened = open_pool(options, GetParam().path, 0, log);
    ASSERT_FALSE(opened);
    if (GetParam().code == 0)
        EXPECT_TRUE(failed(opened, ENOENT, "cannot open part /part")) << "the set was read";
    else if (GetParam().code == EACCES)
        expect_as_told(opened);
    else
        EXPECT_EQ(opened.error().text.find("/part"), std::string::npos) << opened.error().text;
}

INSTANTIATE_TEST_SUITE_P(Layouts, TrustedPath, testing::ValuesIn(layouts),
                         [](const auto& each) { return std::string(each.param.name); });

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
        auto pool = create("pool.set", 0, golden_attributes(2));
        umask(before);
        ASSERT_TRUE(succeeded(pool));
        struct stat made {};
        ASSERT_EQ(stat(part("part0").c_str(), &made), 0);
        EXPECT_EQ(made.st_mode & 07777, each.result);
        ASSERT_TRUE(succeeded(pool->close()));
        EXPECT_TRUE(succeeded(open("pool.set"))) << "what it made, it opens";
        ASSERT_TRUE(succeeded(remove("pool.set")));
    }
}

TEST_F(PartModes, WhatNewPartsMayLetOthersDoOldOnesMayToo) {
    pool_set("pool.set", "2M @/part0\n");
    ASSERT_TRUE(succeeded(create("pool.set", 0, golden_attributes(2))));
    fs::permissions(part("part0"), fs::perms(0660));
    EXPECT_TRUE(failed(open("pool.set"), EACCES));
    options.part_mode = 0660;
    EXPECT_TRUE(succeeded(open("pool.set")));
    fs::permissions(part("part0"), fs::perms(0666));
    EXPECT_TRUE(failed(open("pool.set"), EACCES, "everybody"));
}

// Whoever may change the directory could exchange the new part, too.
TEST_F(PartModes, NothingIsMadeWhereOthersMayWrite) {
    pool_set("pool.set", "2M @/shared/part0\n");
    fs::create_directory(part("shared"));
    fs::permissions(part("shared"), fs::perms(0777));
    EXPECT_TRUE(failed(create("pool.set", 0, golden_attributes(2)), EACCES, "chmod go-w"));
    EXPECT_TRUE(fs::is_empty(part("shared")));
    fs::permissions(part("shared"), fs::perms(01777));
    EXPECT_TRUE(succeeded(create("pool.set", 0, golden_attributes(2))));
}

// Between the check and the use, the directory that was checked is held.
TEST(TrustedPlaces, AnExchangedDirectoryIsNotUsed) {
    std::string name = fs::temp_directory_path() / "rpmem-paths-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const fs::path root = name;
    fs::create_directory(root / "dir");
    write_file(root / "dir/file", "checked");
    const auto place = find_place(root / "dir/file");
    ASSERT_TRUE(succeeded(place));
    fs::rename(root / "dir", root / "moved");
    fs::create_directory(root / "dir");
    write_file(root / "dir/file", "exchanged");
    char text[7] = {};
    const UniqueFd file = open_place(*place, O_RDONLY);
    EXPECT_EQ(read(file.get(), text, sizeof(text)), 7);
    EXPECT_EQ(std::string(text, 7), "checked");
    // Nor is a link that took the place of the file.
    fs::remove(root / "moved/file");
    fs::create_symlink(root / "dir/file", root / "moved/file");
    EXPECT_FALSE(open_place(*place, O_RDONLY));
    fs::remove_all(root);
}

} // namespace
} // namespace rpmem::target
