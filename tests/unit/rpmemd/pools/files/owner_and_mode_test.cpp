// SPDX-License-Identifier: BSD-3-Clause
// Tests the check of owners in a user namespace, see user_namespaces(7). A child creates a real one
// and checks files of the system. The test fails if directories of the system are refused there, if
// a file of an unmapped owner is trusted, or if a daemon without a mapped user trusts anything.
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

// Returns "trusted" or the error for PATH in a user namespace with MAP, or nothing if this user
// cannot create one. The process belongs to an ordinary user, who does not own PATH.
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

// Root and all other users are not mapped there, and are shown as 65534.
TEST(UserNamespace, DirectoriesOfTheSystemAreTrustedAndFilesAreNot) {
    const auto root = checked_in_user_namespace("/", "0");
    if (!root)
        GTEST_SKIP() << "this user may not make a user namespace";
    EXPECT_EQ(root, "trusted");
    const std::string file = checked_in_user_namespace("/etc/passwd", "0").value_or("");
    EXPECT_TRUE(test::contains(file, "belongs to user 65534"));
}

// The process itself and all other users are shown as 65534.
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
