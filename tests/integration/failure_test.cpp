// SPDX-License-Identifier: BSD-3-Clause
// Tests failures without reconnecting (RPMEM_RECONNECT_TIMEOUT=0): remote commands that cannot
// serve, that send malformed answers or too much, and daemons that are killed. Scripts behind a
// real sshd take the place of the daemon, or the test sends signals to the real one. A wrong errno,
// a call that hangs or returns 0, or a child, descriptor, lock or part file that is left fails a
// test.
#include "tests/integration/environment.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::test {
namespace {

class Failures : public PoolTest {
protected:
    void expect_failed(RPMEMpool* pool, int code, const std::string& words) const {
        EXPECT_TRUE(failed(pool, code, words));
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
        EXPECT_EQ(errno, ECHILD);
        EXPECT_FALSE(fs::exists(directory() / "part0"));
    }
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
    // A well-formed response that grants 4 lanes although 1 was requested.
    set_command("printf '\\000\\000\\000\\000'; head -c 12 >/dev/null; printf "
                "'\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\054"
                "\\000\\000\\022\\064\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\001"
                "\\000\\000\\000\\000\\000\\000\\000\\000\\004\\000\\000\\000'; cat");
    expect_failed(create(local, 1), EBADMSG, "4 lanes");
}

TEST_F(Failures, TheCommandSaysTooMuch) {
    set_command("echo it began here >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 3");
    expect_failed(create(local, 1), ECONNRESET, "before rpmemd was ready: xxx");
    EXPECT_TRUE(contains(rpmem_errormsg(), "status 3"));
    // The library does not read all of this, and must not block because of the rest.
    set_command("exec head -c 50000000 /dev/zero");
    expect_failed(create(local, 1), EBADMSG, "");
}

// The target has created the pool, so the library must request its removal.
TEST_F(Failures, NobodyListensOnThePort) {
    const fs::path rest = directory() / "rest";
    set_command("printf '\\000\\000\\000\\000'; head -c 157 >/dev/null; printf "
                "'\\000\\000\\000\\000\\000\\000\\000\\002\\000\\000\\000\\000\\000\\000\\000\\054"
                "\\000\\000\\000\\001\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\001"
                "\\000\\000\\000\\000\\000\\000\\000\\000\\001\\000\\000\\000'; cat >" +
                rest.string());
    EXPECT_EQ(create(local, 1), nullptr);
    EXPECT_TRUE(contains(rpmem_errormsg(), "port 1"));
    const char close[16] = {0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 16, 1, 0, 0, 0};
    const auto sent = bytes_of(rest);
    ASSERT_EQ(sent.size(), sizeof(close));
    EXPECT_EQ(std::memcmp(sent.data(), close, sizeof(close)), 0);
}

TEST_F(Failures, ALossIsLoggedAfterARefusalToo) {
    RPMEMpool* pool = created();
    EXPECT_TRUE(failed(rpmem_set_attr(pool, nullptr), EINVAL));
    const std::size_t before = library_log().size();
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    EXPECT_TRUE(failed(persist_until_it_fails(pool), ECONNRESET, "lost"));
    EXPECT_TRUE(contains(library_log().substr(before), "is lost"));
    const std::size_t after = library_log().size();
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 8, 0, 0), ECONNRESET));
    EXPECT_EQ(library_log().size(), after) << "the same failure was logged again";
    EXPECT_TRUE(failed(rpmem_close(pool), ECONNRESET)); // a later test forks without our threads
}

TEST_F(Failures, AKilledDaemonIsALostLink) {
    RPMEMpool* pool = created(2);
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    EXPECT_TRUE(failed(persist_until_it_fails(pool), ECONNRESET, "lost"));
    for (const int later : {rpmem_persist(pool, 8192, 8, 1, 0), rpmem_flush(pool, 8192, 8, 1, 1),
                            rpmem_drain(pool, 1, 0), rpmem_set_attr(pool, nullptr)})
        EXPECT_TRUE(failed(later, ECONNRESET));
    EXPECT_TRUE(failed(rpmem_close(pool), ECONNRESET));
    EXPECT_TRUE(part_gets_unlocked(0));
    expect_replicated(8192, 1000);
}

// Small flushes may still be in the library's buffer when the session is lost. The next call must
// not succeed as if they were durable.
TEST_F(Failures, SmallFlushesOfALostLinkAreTold) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    std::vector<std::byte> bytes(64);
    const std::vector<std::function<int()>> next{
        [&] { return rpmem_drain(pool, 0, 0); },
        [&] { return rpmem_persist(pool, 16384, 64, 0, 0); },
        [&] { return rpmem_deep_persist(pool, 16384, 64, 0); },
        [&] { return rpmem_read(pool, bytes.data(), 16384, 64, 0); },
        [&] { return rpmem_close(std::exchange(pool, nullptr)); }};
    for (std::size_t i = 0; i < next.size(); ++i) {
        SCOPED_TRACE(i);
        pool = opened();
        local.fill(2 * i);
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
        const auto before = part(0);
        local.fill(2 * i + 1);
        for (std::size_t offset = 8192; offset < 8192 + 1000; offset += 100)
            ASSERT_TRUE(succeeded(rpmem_flush(pool, offset, 64, 0, 0)));
        ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
        EXPECT_TRUE(failed(next[i](), ECONNRESET));
        EXPECT_EQ(part(0), before);
        EXPECT_TRUE(!pool || rpmem_close(pool) == -1);
    }
}

// The daemon is stopped, so its lanes stay connected but do not answer.
TEST_F(Failures, ALaneThatSleepsIsWokenByTheEndOfTheSession) {
    RPMEMpool* pool = created(2);
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 16384, 1000, 1, 0)));
    const pid_t daemon = daemon_process();
    const pid_t sshd = sshd_of_daemon();
    ASSERT_GT(sshd, 1);
    stop_daemon();
    {
        const auto fail_on = [&](unsigned lane) {
            EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 1000, lane, 0),
                               ECONNRESET)); // not: the operation's time is up
            EXPECT_TRUE(contains(rpmem_errormsg(), "has ended"));
        };
        Waiter first([&] { fail_on(0); });
        Waiter second([&] { fail_on(1); });
        first.expect_asleep();
        second.expect_asleep();
        EXPECT_EQ(::kill(sshd, SIGKILL), 0);
    }
    EXPECT_TRUE(failed(rpmem_close(pool), ECONNRESET));
    EXPECT_EQ(::kill(daemon, SIGKILL), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
}

// A response on the control channel is for the thread that sent the request, and must not end the
// wait of a lane.
TEST_F(Failures, AnAnswerToARequestHarmsNoLaneThatSleeps) {
    RPMEMpool* pool = created();
    rpmem_pool_attr attributes = sample_attributes();
    for (std::uint64_t round = 0; round < 5; ++round) {
        local.fill(round);
        attributes.compat_features = static_cast<std::uint32_t>(round);
        stop_daemon();
        {
            Waiter sleeper([&] { EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0))); });
            Waiter asker([&] { EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes))); });
            sleeper.expect_asleep();
            asker.expect_asleep();
            EXPECT_EQ(::kill(daemon_process(), SIGCONT), 0);
        }
        expect_replicated(8192, 1000);
    }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    rpmem_pool_attr seen{};
    pool = opened(1, &seen);
    EXPECT_EQ(seen.compat_features, attributes.compat_features);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// No call used the pool after the loss, so the first call must detect it.
TEST_F(Failures, ALossIsFoundByWhoeverAsksNext) {
    for (const bool closes : {false, true}) {
        set_daemon("");
        RPMEMpool* pool = closes ? opened() : created();
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
        ASSERT_EQ(::kill(daemon_process(), SIGTERM), 0);
        ASSERT_TRUE(part_gets_unlocked(0));
        const rpmem_pool_attr attributes = sample_attributes();
        EXPECT_TRUE(failed(closes ? rpmem_close(pool) : rpmem_set_attr(pool, &attributes),
                           ECONNRESET, "end"));
        if (!closes) {
            EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 1000, 0, 0), ECONNRESET));
            EXPECT_EQ(rpmem_close(pool), -1);
        }
    }
}

TEST_F(Failures, ATerminatedDaemonClosesThePool) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 1000, 0, 0)));
    ASSERT_EQ(::kill(daemon_process(), SIGTERM), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_NE(rpmem_close(pool), 0);
    EXPECT_TRUE(succeeded(rpmem_close(opened())));
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
    expect_replicated(8192, 1000);
}

TEST_F(Failures, NothingIsLeftBehind) {
    // The first use opens descriptors that libraries keep.
    ASSERT_TRUE(succeeded(rpmem_close(created(2))));
    const auto before = open_descriptors();
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(succeeded(rpmem_close(opened(2))));
        EXPECT_EQ(open(local, 2, "none.set"), nullptr);
        EXPECT_EQ(remove("none.set"), -1);
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
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    std::ifstream file(list);
    std::set<std::string> seen((std::istream_iterator<std::string>(file)), {});
    EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2"}));
}

TEST_F(Failures, ChildrenOfTheApplicationAreItsOwn) {
    RPMEMpool* pool = created();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        ::_exit(42);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
    expect_served(pool, 8);
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
