// SPDX-License-Identifier: BSD-3-Clause
// Owners of files as a process in a user namespace sees them; see user_namespaces(7).
#include "common/base/io.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::target {
namespace {

// The answer for PATH of a process in a user namespace with MAP, if there can be one. The process
// belongs to an ordinary user, to whom / and /etc/passwd do not.
std::optional<std::string> checked_in_user_namespace(const char* path, const std::string& map) {
    auto pipe = test::value_of(make_pipe());
    const pid_t child = fork();
    if (child == 0) {
        constexpr uid_t ordinary = 4243;
        std::string answer = "-";
        if ((geteuid() != 0 || setuid(ordinary) == 0) && prctl(PR_SET_DUMPABLE, 1) == 0) {
            const std::string outside = std::to_string(geteuid());
            bool is_there = unshare(CLONE_NEWUSER) == 0;
            if (is_there && !map.empty())
                is_there = static_cast<bool>(std::ofstream("/proc/self/uid_map")
                                             << map << ' ' << outside << " 1" << std::flush);
            const UniqueFd fd(::open(path, O_PATH | O_CLOEXEC));
            struct stat status {};
            if (is_there && fstat(fd.get(), &status) == 0) {
                const auto result = check_ownership(fd.get(), status, path);
                answer = result ? "trusted" : result.error().text;
            }
        }
        static_cast<void>(write(pipe.write_end.get(), answer.data(), answer.size()));
        _exit(0);
    }
    pipe.write_end.reset();
    std::array<char, 1024> text{};
    const auto size = read(pipe.read_end.get(), text.data(), text.size());
    waitpid(child, nullptr, 0);
    const std::string answer(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return answer == "-" ? std::nullopt : std::optional(answer);
}

// Owners of the system have no number there, and are shown as 65534, as is any other user.
TEST(UserNamespace, DirectoriesOfTheSystemAreTrustedAndFilesAreNot) {
    const auto root = checked_in_user_namespace("/", "0");
    if (!root)
        GTEST_SKIP() << "this user may not make a user namespace";
    EXPECT_EQ(root, "trusted");
    const std::string file = checked_in_user_namespace("/etc/passwd", "0").value_or("");
    EXPECT_TRUE(test::contains(file, "belongs to user 65534"));
}

// The process is 65534 itself then, as is every stranger.
TEST(UserNamespace, WithoutANumberOfItsOwnTheDaemonTrustsNothing) {
    for (const char* path : {"/", "/etc/passwd"}) {
        const auto answer = checked_in_user_namespace(path, "");
        if (!answer)
            GTEST_SKIP() << "this user may not make a user namespace";
        EXPECT_TRUE(test::contains(*answer, "does not map its user"));
    }
}

} // namespace
} // namespace rpmem::target
