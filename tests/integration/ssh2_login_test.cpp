// SPDX-License-Identifier: BSD-3-Clause
// Tests logins by libssh2 at a real sshd: private keys of all kinds, unusable keys, an ssh-agent,
// and host keys in known_hosts. ssh2_files.sh makes the files. A login with a key or host key that
// must be rejected, a rejected good one, or an error text without the file and the cause fails a
// test.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

// Restores the key and the known hosts of run_tests.sh afterwards.
class Ssh2Test : public PoolTest {
protected:
    ~Ssh2Test() override {
        write(known_hosts, default_known_hosts);
        use_key("ed25519");
    }

    static void write(const fs::path& file, const std::string& text) {
        std::ofstream(file) << text;
    }

    void use_key(const std::string& name) const {
        fs::copy_file(keys / name, key, fs::copy_options::overwrite_existing);
        fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
    }

    void expect_login() {
        expect_served(created(), 5000);
        ASSERT_TRUE(succeeded(remove()));
    }

    // Before 1.11, libssh2 signs with SHA-1, so the library does not use RSA keys from files.
    void expect_login_by_rsa_file() {
#if LIBSSH2_SIGNS_WITH_RSA
        expect_login();
#else
        expect_refused(EACCES, {key.string(), "RSA", "ssh-add", "ed25519", "1.11"});
#endif
    }

    void expect_refused(int code, const std::vector<std::string>& words) {
        EXPECT_TRUE(failed(create(local, 1), code));
        for (const std::string& word : words)
            EXPECT_TRUE(contains(rpmem_errormsg(), word));
        EXPECT_FALSE(fs::exists(directory() / "part0"));
        EXPECT_EQ(daemon_log(), "");
    }

    // Returns the name of the host in the format of known_hosts, see sshd(8).
    std::string host_name() const {
        return std::string("[127.0.0.1]:") + variable("RPMEM_TEST_SSH_PORT");
    }
    std::string public_key(const fs::path& file) const {
        std::string type;
        std::string text;
        std::ifstream(file) >> type >> text;
        return type + " " + text;
    }

    const fs::path key = fs::path(variable("RPMEM_TEST_DIR")) / "key";
    const fs::path keys = fs::path(variable("RPMEM_TEST_DIR")) / "keys";
    const fs::path known_hosts = variable("RPMEM_SSH_KNOWN_HOSTS");
    const fs::path host_key = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "host_key.pub";
    const std::string default_known_hosts = read_file(known_hosts);
};

class Ssh2Login : public Ssh2Test {};

TEST_F(Ssh2Login, KeysOfEveryKind) {
    use_key("rsa");
    expect_login_by_rsa_file();
    for (const char* kind : {"ed25519", "ecdsa"}) {
        SCOPED_TRACE(kind);
        use_key(kind);
        expect_login();
    }
}

TEST_F(Ssh2Login, ThePublicKeyFileIsNotNeededAndNotRead) {
    write(key.string() + ".pub", "ssh-ed25519 nonsense");
    expect_login();
    fs::remove(key.string() + ".pub");
}

TEST_F(Ssh2Login, KeysInTheOlderFormat) {
    for (const std::string kind : {"rsa", "ecdsa"}) {
        SCOPED_TRACE(kind);
        use_key(kind);
        ASSERT_EQ(
            std::system(
                ("ssh-keygen -q -p -m PEM -P '' -N '' -f " + key.string() + " >/dev/null").c_str()),
            0);
        ASSERT_FALSE(contains(read_file(key), "OPENSSH"));
        if (kind == "rsa")
            expect_login_by_rsa_file();
        else
            expect_login();
    }
}

TEST_F(Ssh2Login, AKeyThatTheTargetDoesNotKnow) {
    use_key("stranger");
    expect_refused(EACCES, {key.string() + " (not accepted)", "authorized_keys", "publickey"});
}

TEST_F(Ssh2Login, KeysThatCannotBeUsed) {
    use_key("locked");
    expect_refused(EACCES, {key.string(), "passphrase", "ssh-add"});
    use_key("ed25519");
    fs::permissions(key, fs::perms::group_read, fs::perm_options::add);
    expect_refused(EACCES, {key.string(), "chmod 600"});
    use_key("ed25519");
    for (const std::string text :
         {"", "nonsense", "-----BEGIN OPENSSH PRIVATE KEY-----\n",
          "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
          "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"}) {
        write(key, text);
        expect_refused(EACCES, {key.string()});
    }
    // Keys that are truncated at various places.
    for (const char* kind : {"ed25519", "rsa"}) {
        const std::string whole = read_file(keys / kind);
        for (std::size_t size = 40; size + 40 < whole.size(); size += 101) {
            write(key, whole.substr(0, size) + "\n-----END OPENSSH PRIVATE KEY-----\n");
            expect_refused(EACCES, {key.string()});
        }
    }
    fs::remove(key);
    expect_refused(EACCES, {key.string(), "No such file"});
}

TEST_F(Ssh2Login, WithoutAUserItIsTheLocalOne) {
    const std::string without = target.substr(target.find('@') + 1);
    EXPECT_TRUE(failed(rpmem_remove(without.c_str(), "none.set", 0), ENOENT));
    EXPECT_TRUE(
        failed(rpmem_remove(("nobody-of-that-name@" + without).c_str(), "none.set", 0), EACCES));
}

TEST_F(Ssh2Login, AHostThatIsNotKnown) {
    write(known_hosts, "# nobody\n[127.0.0.2]:22 " + public_key(host_key) + "\n");
    expect_refused(EACCES, {"not known", host_name(), known_hosts.string(), "ssh-keyscan",
                            "ssh-ed25519 SHA256:"});
    fs::remove(known_hosts);
    expect_refused(EACCES,
                   {"not known", host_name(), known_hosts.string() + " (which does not exist)"});
}

TEST_F(Ssh2Login, AHostWhoseKeyHasChanged) {
    const std::string other = public_key(keys / "stranger.pub");
    write(known_hosts, "# the third line is it\n127.0.0.1 " + public_key(host_key) + "\n" +
                           host_name() + " " + other + "\n");
    expect_refused(EACCES, {"line 3 of " + known_hosts.string(), "ssh-keygen", "SHA256:"});
    write(known_hosts, "\n" + host_name() + " " + public_key(keys / "ecdsa.pub") + "\n");
    expect_refused(EACCES, {"line 2 of " + known_hosts.string(), "ecdsa-sha2-nistp256"});
}

TEST_F(Ssh2Login, AHostWhoseKeyIsRevoked) {
    const std::string revoked = "@revoked * " + public_key(host_key) + "\n";
    for (const std::string& lines :
         {default_known_hosts + revoked, revoked + default_known_hosts, revoked}) {
        write(known_hosts, lines);
        expect_refused(EACCES, {"is revoked by line", known_hosts.string()});
    }
}

TEST_F(Ssh2Login, OneOfSeveralKnownKeysIsEnough) {
    write(known_hosts, host_name() + " " + public_key(keys / "ecdsa.pub") + "\n" + host_name() +
                           " " + public_key(keys / "stranger.pub") + "\n" + host_name() + " " +
                           public_key(host_key) + "\n");
    expect_login();
    write(known_hosts, "127.0.0.1 " + public_key(host_key) + "\n");
    expect_login();
    write(known_hosts, default_known_hosts);
    ASSERT_EQ(
        std::system(("ssh-keygen -q -H -f " + known_hosts.string() + " >/dev/null 2>&1").c_str()),
        0);
    ASSERT_FALSE(contains(read_file(known_hosts), "127.0.0.1"));
    expect_login();
}

// RPMEM_RECONNECT_TIMEOUT=20000
class Ssh2Reconnect : public Ssh2Test {};

// The library must not retry, because every attempt would reach the same host.
TEST_F(Ssh2Reconnect, AnotherHostKeyIsFinal) {
    RPMEMpool* pool = created();
    write(known_hosts, host_name() + " " + public_key(keys / "stranger.pub") + "\n");
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    EXPECT_TRUE(failed(persist_until_it_fails(pool), EACCES, "1 attempts"));
    EXPECT_TRUE(contains(rpmem_errormsg(), "is not the known one"));
    EXPECT_TRUE(failed(rpmem_close(pool), EACCES));
}

// RPMEM_TEST_USE_AGENT=1: there is an ssh-agent, and RPMEM_SSH_KEY is not set.
class Ssh2Agent : public Ssh2Test {
protected:
    void SetUp() override {
        Ssh2Test::SetUp();
        ASSERT_EQ(std::getenv("RPMEM_SSH_KEY"), nullptr);
        run("ssh-add -q -D 2>/dev/null");
    }
    void add(const std::string& name) const {
        run("ssh-add -q " + (keys / name).string() + " 2>/dev/null");
    }
    static void run(const std::string& command) {
        ASSERT_EQ(std::system(command.c_str()), 0) << command;
    }
};

TEST_F(Ssh2Agent, KeysOfEveryKind) {
    for (const char* kind : {"ed25519", "ecdsa", "rsa"}) {
        SCOPED_TRACE(kind);
        run("ssh-add -q -D 2>/dev/null");
        add("stranger");
        add(kind);
        expect_login();
    }
}

TEST_F(Ssh2Agent, WhatItHasIsNamed) {
    add("stranger");
    expect_refused(EACCES, {"of ssh-agent (not accepted)", "ssh-ed25519"});
}

TEST_F(Ssh2Agent, OneThatIsNotThere) {
    const std::string there = variable("SSH_AUTH_SOCK");
    ::setenv("SSH_AUTH_SOCK", (directory() / "nothing").c_str(), 1);
    expect_refused(EACCES, {"ssh-agent at " + (directory() / "nothing").string(), "No such file"});
    ::setenv("SSH_AUTH_SOCK", there.c_str(), 1);
}

} // namespace
} // namespace rpmem::test
