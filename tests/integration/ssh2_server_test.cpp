// SPDX-License-Identifier: BSD-3-Clause
// Tests logins by libssh2 at servers that are slow, old or not running: sockets of the test that do
// not answer, and a real sshd with other options. A login that waits longer than
// RPMEM_CONNECT_TIMEOUT, that uses SHA-1 or another old algorithm, or that reports another cause
// makes a test fail.
#include "tests/integration/environment.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::test {
namespace {

// A listening socket with room for BACKLOG + 1 connections.
struct LocalSocket {
    explicit LocalSocket(int backlog) {
        socklen_t size = sizeof(address);
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(fd, backlog), 0);
        EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    }
    ~LocalSocket() { ::close(fd); }
    LocalSocket(const LocalSocket&) = delete;
    LocalSocket& operator=(const LocalSocket&) = delete;
    [[nodiscard]] std::string target() const {
        return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }

    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
};

// Accepts one connection, and calls SERVE with it in another thread.
class OneServer {
public:
    explicit OneServer(std::function<void(int)> serve)
        : thread_([this, serve = std::move(serve)] {
              const int peer = ::accept4(socket_.fd, nullptr, nullptr, SOCK_CLOEXEC);
              if (peer < 0)
                  return;
              serve(peer);
              ::close(peer);
          }) {}
    ~OneServer() {
        ::shutdown(socket_.fd, SHUT_RDWR); // wakes accept()
        thread_.join();
    }
    OneServer(const OneServer&) = delete;
    OneServer& operator=(const OneServer&) = delete;
    [[nodiscard]] std::string target() const { return socket_.target(); }

private:
    LocalSocket socket_{4};
    std::thread thread_;
};

// Sends TEXT repeatedly, with PAUSE between, until the peer closes the connection or 20 s pass.
std::function<void(int)> sending(std::string text, std::chrono::milliseconds pause) {
    return [text = std::move(text), pause](int peer) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < end &&
               ::send(peer, text.data(), text.size(), MSG_NOSIGNAL) > 0)
            std::this_thread::sleep_for(pause);
    };
}

// RPMEM_CONNECT_TIMEOUT=1000
class Ssh2DeadHost : public TargetTest {};

TEST_F(Ssh2DeadHost, TakesTheConnectionAndSaysNothing) {
    const LocalSocket mute(1);
    EXPECT_TRUE(failed(rpmem_remove(mute.target().c_str(), "pool.set", 0), ETIMEDOUT,
                       "RPMEM_CONNECT_TIMEOUT"));
}

TEST_F(Ssh2DeadHost, DoesNotTakeTheConnection) {
    const LocalSocket full(0);
    const int first = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* const address = reinterpret_cast<const sockaddr*>(&full.address);
    ASSERT_EQ(::connect(first, address, sizeof(full.address)), 0);
    EXPECT_TRUE(failed(rpmem_remove(full.target().c_str(), "pool.set", 0), ETIMEDOUT,
                       "no answer from 127.0.0.1"));
    ::close(first);
}

TEST_F(Ssh2DeadHost, RefusesTheConnection) {
    const std::string closed = LocalSocket(1).target();
    EXPECT_TRUE(failed(rpmem_remove(closed.c_str(), "pool.set", 0), ECONNREFUSED));
}

// RPMEM_CONNECT_TIMEOUT=1000
class Ssh2SlowServer : public TargetTest {};

TEST_F(Ssh2SlowServer, HasTheTimeThatIsAllowedAndNoMore) {
    const std::string lines(4000, 'x');
    const std::function<void(int)> cases[] = {
        sending("x", std::chrono::milliseconds(50)), // a banner that does not end
        sending("x\r\n", std::chrono::milliseconds(50)),
        sending(lines + "\r\n", std::chrono::milliseconds(0)), // as fast as possible
    };
    for (const auto& serve : cases) {
        const OneServer server(serve);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(failed(rpmem_remove(server.target().c_str(), "pool.set", 0), ETIMEDOUT));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
        EXPECT_TRUE(contains(rpmem_errormsg(), "RPMEM_CONNECT_TIMEOUT"));
    }
}

class Ssh2Server : public TargetTest {
protected:
    Ssh2Server() {
        std::ofstream(known_hosts)
            << default_known_hosts << "127.0.0.1 " << read_file(sshd / "host_key.pub")
            << "127.0.0.1 " << read_file(keys / "rsa.pub");
    }
    ~Ssh2Server() override { std::ofstream(known_hosts) << default_known_hosts; }

    // Serves one connection with the sshd of the tests, whose configuration OPTIONS override.
    std::function<void(int)> sshd_with(const std::string& options) const {
        const fs::path config = directory() / "sshd_config";
        std::ofstream(config) << options << "\n" << read_file(sshd / "sshd_config");
        return [config](int peer) {
            const std::string command = "PATH=$PATH:/usr/sbin:/usr/local/sbin:/sbin; "
                                        "exec \"$(command -v sshd)\" -i -e -f '" +
                                        config.string() + "' 2>/dev/null";
            const pid_t child = ::fork();
            if (child == 0) {
                ::dup2(peer, STDIN_FILENO);
                ::dup2(peer, STDOUT_FILENO);
                ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
                ::_exit(127);
            }
            int status = 0;
            ::waitpid(child, &status, 0);
        };
    }

    void expect_failure(const std::string& options, int code, const std::string& words) const {
        SCOPED_TRACE(options);
        const OneServer server(sshd_with(options));
        EXPECT_TRUE(failed(rpmem_remove(server.target().c_str(), "none.set", 0), code, words));
    }

    static bool succeeds(const std::string& command) {
        return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
    }

    const fs::path key = fs::path(variable("RPMEM_TEST_DIR")) / "key"; // of all logins
    const fs::path sshd = variable("RPMEM_TEST_SSHD_DIR");
    const fs::path keys = fs::path(variable("RPMEM_TEST_DIR")) / "keys";
    const fs::path known_hosts = variable("RPMEM_SSH_KNOWN_HOSTS");
    const std::string default_known_hosts = read_file(known_hosts);
};

TEST_F(Ssh2Server, OldAlgorithmsAreNotUsed) {
    // These logins succeed, so rpmemd reports ENOENT.
    expect_failure("Ciphers aes128-ctr", ENOENT, "");
    expect_failure("KexAlgorithms diffie-hellman-group14-sha256", ENOENT, "");
    const std::string words = "no algorithms in common";
    expect_failure("Ciphers aes128-cbc,aes256-cbc,3des-cbc", EACCES, words);
    expect_failure("KexAlgorithms diffie-hellman-group14-sha1,diffie-hellman-group1-sha1,"
                   "diffie-hellman-group-exchange-sha1",
                   EACCES, words);
    expect_failure("HostKey \"" + (keys / "rsa").string() + "\"\nHostKeyAlgorithms ssh-rsa", EACCES,
                   words);
}

// The server would accept such keys.
TEST_F(Ssh2Server, KeysThatSignWithSha1AreNotUsed) {
    const fs::path usual = directory() / "usual";
    fs::rename(key, usual);
    fs::copy_file(keys / "rsa", key);
    fs::permissions(key, fs::perms::owner_read | fs::perms::owner_write);
    if (LIBSSH2_SIGNS_WITH_RSA)
        expect_failure("", ENOENT, ""); // logged in
    expect_failure("PubkeyAcceptedAlgorithms ssh-rsa", EACCES, key.string());
    fs::remove(key);
    const std::string file = " -f '" + key.string() + "'";
    if (succeeds("ssh-keygen -q -t dsa -N ''" + file)) { // later versions of OpenSSH cannot
        const std::string options =
            "PubkeyAcceptedAlgorithms +ssh-dss\nAuthorizedKeysFile \"" + key.string() + ".pub\"";
        expect_failure(options, EACCES, "SHA-1");
        EXPECT_TRUE(succeeds("ssh-keygen -q -p -m PEM -P '' -N ''" + file));
        expect_failure(options, EACCES, "SHA-1");
        fs::remove(key.string() + ".pub");
    }
    fs::rename(usual, key);
}

TEST_F(Ssh2Server, OneThatHangsUpMayBeOverloaded) {
    const OneServer server([](int) {});
    EXPECT_TRUE(failed(rpmem_remove(server.target().c_str(), "none.set", 0), ECONNRESET));
    for (const std::string& words : {server.target().substr(10), std::string("MaxStartups")})
        EXPECT_TRUE(contains(rpmem_errormsg(), words));
}

} // namespace
} // namespace rpmem::test
