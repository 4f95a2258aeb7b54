// What breaks: commands that are missing, mute or mad, daemons that die, and what is left behind.
#include "environment.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

namespace rpmem::test {
namespace {

namespace fs = std::filesystem;

class Failures : public TargetTest {
protected:
    void SetUp() override { write_simple_pool_set(8); }

    void expect_failed(RPMEMpool* pool, int code, const std::string& words) const {
        const int seen = errno;
        EXPECT_EQ(pool, nullptr);
        EXPECT_EQ(seen, code) << rpmem_errormsg();
        EXPECT_NE(std::string(rpmem_errormsg()).find(words), std::string::npos) << rpmem_errormsg();
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
        EXPECT_EQ(errno, ECHILD);
        EXPECT_FALSE(fs::exists(directory() / "part0"));
    }

    pid_t daemon_process() const {
        pid_t pid = 0;
        std::ifstream(directory() / "pid") >> pid;
        return pid;
    }

    // As the daemon, but the process number is known.
    void set_daemon_with_pid() const {
        set_command("echo $$ >" + (directory() / "pid").string() + "\nexec " +
                    variable("RPMEM_TEST_DAEMON") + " --poolset-dir " + directory().string() +
                    " --log-file " + (directory() / "log").string() + " --log-level debug \"$@\"");
    }

    LocalPool local{8 * mebibyte};
};

TEST_F(Failures, TheCommandCannotServe) {
    set_command("exit 127");
    expect_failed(create(local, 1), ECONNRESET, "RPMEM_CMD");
    set_command("echo the disk is on fire >&2; exit 3");
    expect_failed(create(local, 1), ECONNRESET, "the disk is on fire");
    set_command("printf '\\026\\000\\000\\000'; echo no good >&2; exit 1"); // status 22
    expect_failed(create(local, 1), EINVAL, "no good");
    set_daemon("--poolset-dir relative");
    expect_failed(create(local, 1), EINVAL, "relative");
    set_daemon("--log-level loud");
    expect_failed(create(local, 1), EINVAL, "loud");
}

TEST_F(Failures, TheCommandTalksNonsense) {
    set_command("printf '\\000\\000\\000\\000'; head -c 12 >/dev/null; head -c 200 /dev/zero; cat");
    expect_failed(create(local, 1), EBADMSG, "");
    set_command("printf '\\000\\000\\000\\000'; head -c 12 >/dev/null; printf hello");
    expect_failed(create(local, 1), ECONNRESET, "");
    // A response that is well made and promises 4 lanes when 1 was asked for.
    set_command("printf '\\000\\000\\000\\000'; head -c 12 >/dev/null; printf "
                "'\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\054"
                "\\000\\000\\022\\064\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\001"
                "\\000\\000\\000\\000\\000\\000\\000\\000\\004\\000\\000\\000'; cat");
    expect_failed(create(local, 1), EPROTO, "4 lanes");
}

TEST_F(Failures, TheCommandSaysTooMuch) {
    set_command("echo it began here >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 3");
    expect_failed(create(local, 1), ECONNRESET, "it began here; xxx");
    EXPECT_NE(std::string(rpmem_errormsg()).find("status 3"), std::string::npos);
    // Nobody reads the rest of this one, which must not hold anything up.
    set_command("exec head -c 50000000 /dev/zero");
    expect_failed(create(local, 1), EBADMSG, "");
}

TEST_F(Failures, NobodyListensOnThePort) {
    set_command("printf '\\000\\000\\000\\000'; head -c 12 >/dev/null; printf "
                "'\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\054"
                "\\000\\000\\000\\001\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\001"
                "\\000\\000\\000\\000\\000\\000\\000\\000\\001\\000\\000\\000'; cat");
    EXPECT_EQ(create(local, 1), nullptr);
    EXPECT_NE(std::string(rpmem_errormsg()).find("port 1"), std::string::npos) << rpmem_errormsg();
}

TEST_F(Failures, AKilledDaemonIsALostLink) {
    set_daemon_with_pid();
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_persist(pool, 8192, 1000, 0, 0), 0) << rpmem_errormsg();
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    int status = 0;
    for (int i = 0; i < 1000 && status == 0; ++i)
        status = rpmem_persist(pool, 8192, 1000, 0, 0);
    EXPECT_EQ(status, -1);
    EXPECT_EQ(errno, ECONNRESET) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("lost"), std::string::npos) << rpmem_errormsg();
    for (const int later : {rpmem_persist(pool, 8192, 8, 1, 0), rpmem_flush(pool, 8192, 8, 1, 1),
                            rpmem_drain(pool, 1, 0), rpmem_set_attr(pool, nullptr)}) {
        EXPECT_EQ(later, -1);
        EXPECT_EQ(errno, ECONNRESET) << rpmem_errormsg();
    }
    EXPECT_EQ(rpmem_close(pool), -1);
    EXPECT_EQ(errno, ECONNRESET);
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_EQ(std::memcmp(part(0).data() + 8192, local.data() + 8192, 1000), 0);
}

TEST_F(Failures, ATerminatedDaemonClosesThePool) {
    set_daemon_with_pid();
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_persist(pool, 8192, 1000, 0, 0), 0) << rpmem_errormsg();
    ASSERT_EQ(::kill(daemon_process(), SIGTERM), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_NE(rpmem_close(pool), 0);
    pool = open(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

TEST_F(Failures, AnInitiatorThatDiesLeavesThePoolUnlocked) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        RPMEMpool* pool = create(local, 1);
        if (pool && rpmem_persist(pool, 8192, 1000, 0, 0) == 0)
            ::raise(SIGKILL);
        ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_EQ(std::memcmp(part(0).data() + 8192, local.data() + 8192, 1000), 0);
}

TEST_F(Failures, NothingIsLeftBehind) {
    // Libraries open descriptors of their own at first use.
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    const auto before = open_descriptors();
    for (int i = 0; i < 3; ++i) {
        pool = open(local, 2);
        ASSERT_NE(pool, nullptr) << rpmem_errormsg();
        ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
        EXPECT_EQ(open(local, 2, "none.set"), nullptr);
        EXPECT_EQ(rpmem_remove(target.c_str(), "none.set", 0), -1);
    }
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(Failures, SshGetsNoDescriptorOfTheApplication) {
    const fs::path list = directory() / "descriptors";
    ::setenv("RPMEM_TEST_LIST_DESCRIPTORS", list.c_str(), 1);
    const int leak = ::dup(STDERR_FILENO); // not close-on-exec
    RPMEMpool* pool = create(local, 1);
    ::close(leak);
    ::unsetenv("RPMEM_TEST_LIST_DESCRIPTORS");
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    std::ifstream file(list);
    std::set<std::string> seen((std::istream_iterator<std::string>(file)), {});
    EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2"}));
}

TEST_F(Failures, ChildrenOfTheApplicationAreItsOwn) {
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(42);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
    ASSERT_EQ(rpmem_persist(pool, 8192, 8, 0, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

TEST_F(Failures, AnErrorIsOfItsThread) {
    EXPECT_EQ(rpmem_remove(nullptr, "x", 0), -1);
    const std::string own = rpmem_errormsg();
    EXPECT_NE(own, "");
    std::string other = "not asked";
    std::thread([&] { other = rpmem_errormsg(); }).join();
    EXPECT_EQ(other, "");
    EXPECT_EQ(rpmem_errormsg(), own);
}

} // namespace
} // namespace rpmem::test
