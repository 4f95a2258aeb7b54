// SPDX-License-Identifier: BSD-3-Clause
// Tests the error texts for a remote command that ends, or that prints unexpected output. The
// target is a real sshd, and scripts take the place of the daemon. A text without the cause, with a
// wrong hint, or with control characters of the target in it makes a test fail.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

class RemoteEndings : public PoolTest {
protected:
    static void expect_text(int code, const std::vector<std::string>& said,
                            const std::vector<std::string>& not_said) {
        EXPECT_EQ(errno, code) << rpmem_errormsg();
        const std::string text = rpmem_errormsg();
        for (const std::string& words : said)
            EXPECT_TRUE(contains(text, words));
        for (const std::string& words : not_said)
            EXPECT_FALSE(contains(text, words));
    }

    // Expects create and remove at the target OTHER to fail with CODE and these words.
    void expect_no_target(const std::string& other, int code, const std::string& said,
                          const std::vector<std::string>& not_said = {}) {
        target = other;
        EXPECT_EQ(create(local, 1), nullptr);
        expect_text(code, {said}, not_said);
        EXPECT_EQ(remove(), -1);
        expect_text(code, {said}, not_said);
    }

    const std::string command = variable("RPMEM_TEST_COMMAND_FILE");
    const bool by_libssh2 = std::getenv("RPMEM_SSH_TRANSPORT") != nullptr;
};

TEST_F(RemoteEndings, NoiseOfTheShellIsQuoted) {
    const std::string daemon = variable("RPMEM_TEST_DAEMON");
    const struct {
        const char* script;
        const char* quoted;
    } cases[] = {
        {"printf 'Welcome to \"db\"\\n\\033[1mnews\\n'; exec ",
         "begins with \"Welcome to \\\"db\\\"\\n\\x1b[1mnews\\n"},
        {"printf hi; exec true ", "begins with \"hi\""},
        {"head -c 5000 /dev/zero | tr '\\0' x; exec ", "xxx\"..."},
        // On a little-endian target, a hello begins with the bytes HMPR.
        {"printf 'hiHMPR and tOkEn'; exec true ", "begins with \"hi\""},
        {"printf '\\377\\376\\375\\374\\001'; exec ", "\"\\xff\\xfe\\xfd\\xfc"},
    };
    for (const auto& one : cases) {
        SCOPED_TRACE(one.script);
        set_command(one.script + daemon);
        EXPECT_EQ(create(local, 1), nullptr);
        expect_text(EPROTO,
                    {one.quoted, "~/.bashrc", " true' must print nothing", "'" + command + "'"},
                    {"\033", "Remote I/O", "Protocol error", "tOkEn"});
        EXPECT_LT(std::string(rpmem_errormsg()).size(), 2000U);
    }
}

// The output includes control characters of C1 in one byte and in two, and a sequence that sets
// the title of a terminal.
TEST_F(RemoteEndings, NothingOfATargetCommandsATerminal) {
    set_command("printf 'a\\233 31m b\\302\\233 31m c\\033]0;d\\007' >&2; exit 3");
    EXPECT_EQ(create(local, 1), nullptr);
    const std::string text = rpmem_errormsg();
    EXPECT_TRUE(contains(text, "31m")) << text;
    for (const char byte : text)
        EXPECT_TRUE(byte >= ' ' && byte <= '~') << static_cast<unsigned>(byte);
}

// A shell reports a signal as an exit status above 128. sshd reports a signal of the command itself
// in the protocol, but ssh(1) does not show which one it was.
TEST_F(RemoteEndings, ASignalIsToldAsSuch) {
    const std::vector<std::string> login_hint{"by hand", "password"};
    for (const std::string before :
         {"", "printf '\\000\\000\\000\\000'; head -c 148 >/dev/null; "}) {
        SCOPED_TRACE(before);
        set_command(before + "kill -KILL $$");
        EXPECT_EQ(create(local, 1), nullptr);
        expect_text(ECONNRESET, {by_libssh2 ? "signal 9 (SIGKILL)" : "a signal ended it"},
                    login_hint);
        set_command(before + "sh -c 'kill -SEGV $$'; exit $?");
        EXPECT_EQ(create(local, 1), nullptr);
        expect_text(ECONNRESET, {"signal 11 (SIGSEGV) on the target"}, login_hint);
    }
    set_daemon("");
    RPMEMpool* pool = created();
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    // The end of the channel may arrive later than the unlock. A request that is sent before would
    // have another error text.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (rpmem_drain(pool, 0, 0) == 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    EXPECT_EQ(rpmem_set_attr(pool, nullptr), -1);
    expect_text(ECONNRESET, {"lost", by_libssh2 ? "signal 9 (SIGKILL)" : "a signal ended it"},
                login_hint);
    EXPECT_EQ(rpmem_close(pool), -1);
}

TEST_F(RemoteEndings, ADaemonThatIsTerminatedSaysSo) {
    RPMEMpool* pool = created();
    ASSERT_EQ(::kill(daemon_process(), SIGTERM), 0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (rpmem_persist(pool, 4096, 64, 0, 0) == 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
    expect_text(ECONNRESET, {"lost", "ended by a signal, SIGTERM, from process"}, {"by hand"});
    EXPECT_EQ(rpmem_close(pool), -1);
}

TEST_F(RemoteEndings, TheEndOfALongErrorTextIsQuotedOnce) {
    set_command("seq -f 'banner %g' 1 5000 >&2; echo 'rpmemd: the cause' >&2; "
                "seq -f 'after %g' 1 500 >&2; echo 'after 500' >&2; exit 3");
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"rpmemd: the cause; ", "; after 499; after 500"},
                {"banner", "after 500; after 500"});
    EXPECT_LT(std::string(rpmem_errormsg()).size(), 1500U);
}

TEST_F(RemoteEndings, ACommandThatIsNoDaemonIsNamed) {
    for (const std::string status : {"0", "3"}) {
        set_command("exit " + status);
        EXPECT_EQ(create(local, 1), nullptr);
        expect_text(ECONNRESET,
                    {"'" + command + "' ended with status " + status, "RPMEM_CMD names the command",
                     by_libssh2 ? "" : "RPMEM_SSH names '", "login shell on the target"},
                    {"by hand"});
    }
}

TEST_F(RemoteEndings, ACommandThatIsNotThereHasOneErrno) {
    set_command("exec /nonexistent/rpmemd");
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"status 127", "RPMEM_CMD"}, {"by hand"});
    EXPECT_EQ(remove(), -1);
    expect_text(ECONNRESET, {"status 127", "RPMEM_CMD"}, {"by hand"});
}

// The scripts print and return the same as nologin(8) and csh(1).
TEST_F(RemoteEndings, ALoginShellThatRunsNoCommandIsNamed) {
    set_command("echo 'This account is currently not available.'; exit 1");
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(EPROTO, {"login shell of ", "nologin(8)", "usermod -s"}, {"~/.bashrc"});
    set_command("echo 'export: Command not found.' >&2; exit 1");
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"login shell", "RPMEM_OFFER=option"}, {"is it an rpmemd"});
}

class RemoteEndingsOfSsh : public RemoteEndings {};

TEST_F(RemoteEndingsOfSsh, AnotherHostKeyIsNoReasonToLogInByHand) {
    const fs::path known_hosts = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "known_hosts";
    const std::string before = read_file(known_hosts);
    std::istringstream line(before);
    std::string host;
    line >> host;
    const fs::path key = directory() / "other_key";
    ASSERT_EQ(std::system(("ssh-keygen -q -t ed25519 -N '' -f " + key.native()).c_str()), 0);
    std::ofstream(known_hosts) << host << ' ' << read_file(key.native() + ".pub");
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"has another host key", "ssh-keygen -R"}, {"by hand"});
    std::ofstream(known_hosts) << "@revoked " << before;
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"is revoked"}, {"by hand"});
    std::ofstream{known_hosts};
    EXPECT_EQ(create(local, 1), nullptr);
    expect_text(ECONNRESET, {"log in once by hand"}, {"another host key"});
    std::ofstream(known_hosts) << before;
}

TEST_F(RemoteEndingsOfSsh, TheHintIsThatOfTheFailure) {
    const std::string without_user = target.substr(target.find('@') + 1);
    expect_no_target("no-such-host.invalid", ECONNRESET,
                     "neither to ssh_config nor to the resolver", {"by hand"});
    expect_no_target("127.0.0.1:1", ECONNRESET, "does sshd run on the target", {"by hand"});
    EXPECT_EQ(rpmem_remove(("nobody-of-that-name@" + without_user).c_str(), "pool.set", 0), -1);
    expect_text(ECONNRESET, {"Permission denied", "by hand"}, {});
}

TEST_F(RemoteEndingsOfSsh, TwoAtSignsAreRefusedAtOnce) {
    for (const char* bad : {"user@@127.0.0.1", "user@127.0.0.1@22"})
        expect_no_target(bad, EINVAL, "more than one '@'");
}

} // namespace
} // namespace rpmem::test
