// Logins by libssh2: keys, host keys, hosts that do not answer. run_tests.sh makes the files.
#include "tests/integration/environment.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rpmem::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Restores the key and the known hosts of run_tests.sh afterwards.
class Ssh2Test : public TargetTest {
protected:
    void SetUp() override { write_simple_pool_set(8); }
    ~Ssh2Test() override {
        write(known_hosts, usual_known_hosts);
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
        RPMEMpool* pool = create(local, 1);
        ASSERT_NE(pool, nullptr) << rpmem_errormsg();
        ASSERT_EQ(rpmem_persist(pool, 8192, 5000, 0, 0), 0) << rpmem_errormsg();
        ASSERT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
        EXPECT_EQ(std::memcmp(part(0).data() + 8192, local.data() + 8192, 5000), 0);
        ASSERT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), 0) << rpmem_errormsg();
    }

    void expect_refused(int code, const std::vector<std::string>& words) {
        EXPECT_EQ(create(local, 1), nullptr);
        EXPECT_EQ(errno, code) << rpmem_errormsg();
        for (const std::string& word : words)
            EXPECT_NE(std::string(rpmem_errormsg()).find(word), std::string::npos)
                << word << " is not in: " << rpmem_errormsg();
        EXPECT_FALSE(fs::exists(directory() / "part0"));
        EXPECT_EQ(daemon_log(), "");
    }

    // As known_hosts(5) has it.
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
    const std::string usual_known_hosts = content_of(known_hosts);
    LocalPool local{8 * mebibyte};
};

class Ssh2Login : public Ssh2Test {};

TEST_F(Ssh2Login, KeysOfEveryKind) {
    for (const char* kind : {"ed25519", "ecdsa", "rsa"}) {
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
    for (const char* kind : {"ecdsa", "rsa"}) {
        SCOPED_TRACE(kind);
        use_key(kind);
        ASSERT_EQ(
            std::system(
                ("ssh-keygen -q -p -m PEM -P '' -N '' -f " + key.string() + " >/dev/null").c_str()),
            0);
        ASSERT_EQ(content_of(key).find("OPENSSH"), std::string::npos);
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
    // A key that is cut off anywhere.
    for (const char* kind : {"ed25519", "rsa"}) {
        const std::string whole = content_of(keys / kind);
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
    EXPECT_EQ(rpmem_remove(without.c_str(), "none.set", 0), -1);
    EXPECT_EQ(errno, ENOENT) << rpmem_errormsg();
    EXPECT_EQ(rpmem_remove(("nobody-of-that-name@" + without).c_str(), "none.set", 0), -1);
    EXPECT_EQ(errno, EACCES) << rpmem_errormsg();
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
    write(known_hosts, usual_known_hosts + "@revoked * " + public_key(host_key) + "\n");
    expect_refused(EACCES, {"revoked", known_hosts.string()});
}

TEST_F(Ssh2Login, OneOfSeveralKnownKeysIsEnough) {
    write(known_hosts, host_name() + " " + public_key(keys / "ecdsa.pub") + "\n" + host_name() +
                           " " + public_key(keys / "stranger.pub") + "\n" + host_name() + " " +
                           public_key(host_key) + "\n");
    expect_login();
    write(known_hosts, "127.0.0.1 " + public_key(host_key) + "\n");
    expect_login();
    write(known_hosts, usual_known_hosts);
    ASSERT_EQ(
        std::system(("ssh-keygen -q -H -f " + known_hosts.string() + " >/dev/null 2>&1").c_str()),
        0);
    ASSERT_EQ(content_of(known_hosts).find("127.0.0.1"), std::string::npos);
    expect_login();
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

// RPMEM_CONNECT_TIMEOUT=1000
class Ssh2DeadHost : public Ssh2Test {
protected:
    // A socket that listens, with room for BACKLOG + 1 connections; returns the target.
    std::string listen_at(int backlog) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listener_, backlog), 0);
        EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        address_ = address;
        return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    void TearDown() override { ::close(listener_); }

    int listener_ = -1;
    sockaddr_in address_{};
};

TEST_F(Ssh2DeadHost, TakesTheConnectionAndSaysNothing) {
    const std::string mute = listen_at(1);
    EXPECT_EQ(rpmem_remove(mute.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, ETIMEDOUT) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("RPMEM_CONNECT_TIMEOUT"), std::string::npos)
        << rpmem_errormsg();
}

TEST_F(Ssh2DeadHost, DoesNotTakeTheConnection) {
    const std::string full = listen_at(0);
    const int first = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(first, reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    EXPECT_EQ(rpmem_remove(full.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, ETIMEDOUT) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("no answer from 127.0.0.1"), std::string::npos)
        << rpmem_errormsg();
    ::close(first);
}

TEST_F(Ssh2DeadHost, RefusesTheConnection) {
    const std::string closed = listen_at(1);
    ::close(std::exchange(listener_, -1));
    EXPECT_EQ(rpmem_remove(closed.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, ECONNREFUSED) << rpmem_errormsg();
}

} // namespace
} // namespace rpmem::test
