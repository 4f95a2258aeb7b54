// SPDX-License-Identifier: BSD-3-Clause
// Tests which group counts as the private one of a user, on files in the format of passwd(5) and
// group(5), and what it may do, on a real file in a child with the rights of a real account. The
// tests fail if a user of Debian 13 (umask 002) has to change the mode of each new file, or if a
// group that another account can use may write to a pool.
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/private_group.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace rpmem::target {
namespace {

struct CloseFile {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

OpenFile file_of(const std::string& text) {
    OpenFile file(std::tmpfile());
    EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file.get()), text.size());
    std::rewind(file.get());
    return file;
}

constexpr uid_t user = 1000;
const std::string passwd_of_user =
    "root:x:0:0::/root:/bin/sh\nann:x:1000:1001::/home/ann:/bin/sh\n";

std::optional<gid_t> group_by(const std::string& passwd, const std::string& group,
                              uid_t whose = user) {
    return private_group(whose, file_of(passwd).get(), file_of(group).get());
}

TEST(PrivateGroup, HasTheNameOfTheUserAndNoOtherMember) {
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\nann:x:1001:\n"), gid_t{1001});
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\nann:x:1001:ann\n"), gid_t{1001});
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\nstaff:x:1001:\n"), std::nullopt);
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\nann:x:1001:bob\n"), std::nullopt);
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\nann:x:1001:ann,bob\n"), std::nullopt);
    EXPECT_EQ(group_by(passwd_of_user, "root:x:0:\n"), std::nullopt);
}

// group(5) may have several entries of one number. Each of them may have members.
TEST(PrivateGroup, NoOtherEntryHasItsNumber) {
    EXPECT_EQ(group_by(passwd_of_user, "ann:x:1001:\nshared:x:1001:bob\n"), std::nullopt);
}

TEST(PrivateGroup, IsThePrimaryGroupOfNoOtherUser) {
    const std::string bob = "bob:x:1002:1001::/home/bob:/bin/sh\n";
    EXPECT_EQ(group_by(passwd_of_user + bob, "ann:x:1001:\n"), std::nullopt);
    EXPECT_EQ(group_by(bob + passwd_of_user, "ann:x:1001:\n"), std::nullopt);
}

TEST(PrivateGroup, RootHasNone) {
    EXPECT_EQ(group_by("root:x:0:0::/root:/bin/sh\n", "root:x:0:\n", 0), std::nullopt);
}

TEST(PrivateGroup, WithoutTheFilesNoGroupIsPrivate) {
    EXPECT_EQ(private_group(user, nullptr, file_of("ann:x:1001:\n").get()), std::nullopt);
    EXPECT_EQ(private_group(user, file_of(passwd_of_user).get(), nullptr), std::nullopt);
    EXPECT_EQ(group_by("", "ann:x:1001:\n"), std::nullopt);
}

// The search must not end early, because an entry after the long line could forbid the group.
TEST(PrivateGroup, ALineThatIsTooLongMakesNoGroupPrivate) {
    const std::string long_line = "many:x:1003:" + std::string(100000, 'a') + "\n";
    EXPECT_EQ(group_by(passwd_of_user, "ann:x:1001:\n" + long_line + "also:x:1001:bob\n"),
              std::nullopt);
}

// Returns whether an account trusts a file with MODE that belongs to it and to GROUP. A child gets
// the rights of the account.
bool is_trusted(const passwd& account, gid_t group, mode_t mode) {
    const test::TemporaryDirectory directory;
    const std::string path = directory.path() / "file";
    std::ofstream(path) << "text";
    EXPECT_EQ(::chmod(directory.path().c_str(), 0755), 0);
    EXPECT_EQ(::chown(path.c_str(), account.pw_uid, group), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        struct stat status {};
        const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
        const bool is_account = ::setgid(account.pw_gid) == 0 && ::setuid(account.pw_uid) == 0;
        const bool trusted = is_account && ::fstat(fd.get(), &status) == 0 &&
                             check_ownership(fd.get(), status, path).has_value();
        ::_exit(trusted ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Debian's account "backup" has a private group.
TEST(PrivateGroup, MayWriteToAFile) {
    const passwd* const account = ::getpwnam("backup");
    const group* const own = account ? ::getgrgid(account->pw_gid) : nullptr;
    if (::geteuid() != 0 || !own || own->gr_name != std::string("backup"))
        GTEST_SKIP() << "only root can become the account \"backup\"";
    EXPECT_TRUE(is_trusted(*account, account->pw_gid, 0664));
    EXPECT_FALSE(is_trusted(*account, account->pw_gid, 0666));
    EXPECT_FALSE(is_trusted(*account, 0, 0664));
}

} // namespace
} // namespace rpmem::target
