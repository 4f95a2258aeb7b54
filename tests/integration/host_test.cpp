// SPDX-License-Identifier: BSD-3-Clause
// Tests conditions of real hosts: limits, signals, cancelled threads, jobs that a login leaves
// running, an unusual umask, a login without /proc, and ssh settings meant for interactive use. The
// sshd and the daemon are real. Each case once made a call fail that should succeed, report a wrong
// error, or end a process, and makes its test fail if it does so again.
#include "tests/integration/environment.hpp"

#include <pthread.h>
#include <unistd.h>

namespace rpmem::test {
namespace {

class Host : public PoolTest {
protected:
    // Makes the login of the daemon leave a job that keeps ssh's streams open until end_job().
    void set_daemon_with_job() const {
        const std::string job = directory() / "job";
        std::ofstream(job) << "runs\n";
        set_daemon("", "(while [ -e " + job + " ]; do sleep 0.1; done) &");
    }
    void end_job() const { fs::remove(directory() / "job"); }
};

TEST_F(Host, AnAnswerIsEnoughWhileAJobHoldsTheStreams) {
    set_daemon_with_job();
    const auto began = std::chrono::steady_clock::now();
    RPMEMpool* pool = created();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 4096, 4096, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    EXPECT_TRUE(failed(remove(), ENOENT, "part0"));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(25));
    end_job();
}

TEST_F(Host, ARemovalIsToldWhereSigchldIsIgnored) {
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_TRUE(failed(remove(), ENOENT, "part0"));
    std::signal(SIGCHLD, before);
}

TEST_F(Host, ALimitOfFileSizesOnTheTargetIsAnError) {
    set_daemon("", "ulimit -f 1024;");
    EXPECT_TRUE(failed(create(local, 1), EREMOTEIO, "ulimit -f"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

TEST_F(Host, AUmaskKeepsNobodyFromItsOwnParts) {
    set_daemon("", "umask 0777;");
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    EXPECT_EQ(fs::status(directory() / "part0").permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Host, InvisibleCharactersOfAPoolSetAreNamed) {
    const std::string first_line = "PMEMPOOLSET\n";
    std::string utf16 = "\xff\xfe";
    for (const char c : first_line)
        utf16 += {c, '\0'};
    for (const auto& [line, words] :
         {std::pair{"\xef\xbb\xbf" + first_line, "byte order mark"},
          std::pair{std::string("PMEMPOOLSET \n"), "blanks"}, std::pair{utf16, "UTF-16"}}) {
        std::ofstream(directory() / "pool.set") << line;
        EXPECT_EQ(create(local, 1), nullptr);
        EXPECT_NE(std::strstr(rpmem_errormsg(), words), nullptr) << rpmem_errormsg();
    }
}

TEST_F(Host, CancelledThreadsEndTheirCalls) {
    int status = -1;
    std::thread thread([&] {
        ::pthread_cancel(::pthread_self());
        unsigned lanes = 1;
        const auto attributes = sample_attributes();
        RPMEMpool* pool = rpmem_create(target.c_str(), "pool.set", local.data(), local.size(),
                                       &lanes, &attributes);
        std::array<std::byte, 64> place;
        status = !pool || rpmem_persist(pool, 4096, 4096, 0, 0) != 0 ||
                 rpmem_flush(pool, 8192, 4096, 0, 0) != 0 || rpmem_drain(pool, 0, 0) != 0 ||
                 rpmem_read(pool, place.data(), 8192, place.size(), 0) != 0 ||
                 rpmem_close(pool) != 0;
        // The cancellation is still pending. It must not end the thread before the test has the
        // status.
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    });
    thread.join();
    EXPECT_EQ(status, 0);
}

// RPMEM_PEER_TIMEOUT=6000. The target of one pool does not answer its close for that time. One
// thread sends the heartbeats of all pools. If it waited too, the daemon of the other pool would
// end its session after 4 s, and RPMEM_RECONNECT_TIMEOUT is 0 here.
class TwoPools : public PoolTest {};

TEST_F(TwoPools, ACloseThatTakesLongDoesNotEndTheSessionOfTheOther) {
    set_daemon("--peer-timeout 4000");
    write_pool_set("other.set", "8M %/other");
    LocalPool other(local.size());
    RPMEMpool* const lives = sound(create(other, 1, "other.set"));
    RPMEMpool* const stopped = created();
    stop_daemon();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_NE(rpmem_close(stopped), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    ::kill(daemon_process(), SIGCONT);
    EXPECT_TRUE(succeeded(rpmem_persist(lives, 8192, 64, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(lives)));
}

// A login with ChrootDirectory of sshd usually has no /proc. Needs own_mounts.sh.
class WithoutProc : public PoolTest {};

TEST_F(WithoutProc, APoolIsServed) {
    set_daemon("", "mount -t tmpfs tmpfs /proc &&");
    const std::string script = read_file(variable("RPMEM_TEST_COMMAND_FILE"));
    std::ofstream(directory() / "inner") << script;
    set_command("exec unshare --mount sh " + (directory() / "inner").native() + " \"$@\"");
    expect_served(created(2), 5000, 1);
    RPMEMpool* const pool = opened();
    EXPECT_TRUE(failed(open(local, 1), EBUSY));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(succeeded(remove()));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

class SshConfig : public Host {
protected:
    ~SshConfig() override { set_config(""); }
    void set_config(const std::string& lines) const { std::ofstream(config_) << before_ << lines; }

private:
    const fs::path config_ = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "ssh_config";
    const std::string before_ = read_file(config_);
};

TEST_F(SshConfig, SettingsForPeopleDoNoHarm) {
    write_pool_set("second.set", "8M %/second");
    LocalPool second(local.size());
    const std::string forward = "LocalForward " + (directory() / "socket").string() + " [::1]:1\n";
    const std::string cases[] = {
        "RemoteCommand /bin/false\n",
        "StdinNull yes\n",
        "SessionType none\n",
        "SessionType subsystem\n",
        "ForkAfterAuthentication yes\n",
        "PermitLocalCommand yes\nLocalCommand echo hello\n",
        "ExitOnForwardFailure yes\n" + forward,
    };
    for (const std::string& lines : cases) {
        SCOPED_TRACE(lines);
        set_config(lines);
        RPMEMpool* const pool = create(local, 1);
        RPMEMpool* const other = create(second, 1, "second.set");
        EXPECT_NE(pool, nullptr) << rpmem_errormsg();
        EXPECT_NE(other, nullptr) << rpmem_errormsg();
        EXPECT_TRUE(!pool || succeeded(rpmem_close(pool)));
        EXPECT_TRUE(!other || succeeded(rpmem_close(other)));
        EXPECT_TRUE(succeeded(remove()));
        EXPECT_TRUE(succeeded(remove("second.set")));
    }
}

} // namespace
} // namespace rpmem::test
