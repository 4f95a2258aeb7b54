// SPDX-License-Identifier: BSD-3-Clause
// Tests a name server that does not answer: a socket on port 53 in a network namespace of the test,
// see own_resolver.sh. getaddrinfo(3) would wait for it for a minute, in the first call and in each
// attempt to reconnect, whatever the timeouts of the library are. A library that waits for it that
// long makes a test fail.
#include "common/base/deadline.hpp"
#include "common/base/unique_fd.hpp"
#include "tests/integration/environment.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

namespace rpmem::test {
namespace {

class MuteResolver : public PoolTest {
protected:
    MuteResolver() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(53);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(server_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
            << strerror(errno) << ": run this through own_resolver.sh";
        std::ofstream(ssh_config_) << "Host alias.test\n HostName 127.0.0.1\n Port "
                                   << variable("RPMEM_TEST_SSH_PORT") << '\n'
                                   << default_config_;
    }
    ~MuteResolver() override { std::ofstream(ssh_config_) << default_config_; }

    // Returns whether a query has arrived, and consumes it.
    [[nodiscard]] bool was_asked() const {
        std::array<std::byte, 512> question;
        return ::recv(server_.get(), question.data(), question.size(), MSG_DONTWAIT) > 0;
    }

private:
    const UniqueFd server_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const fs::path ssh_config_ = fs::path(variable("RPMEM_TEST_SSHD_DIR")) / "ssh_config";
    const std::string default_config_ = read_file(ssh_config_);
};

// Only ssh_config has the name, so neither the login nor the lanes need a name server.
TEST_F(MuteResolver, AnAliasOfSshIsReachedInTime) {
    target = "alias.test";
    const Deadline deadline(std::chrono::seconds(12)); // RPMEM_CONNECT_TIMEOUT is 6 s
    expect_served(created());
    EXPECT_FALSE(deadline.passed());
    EXPECT_TRUE(was_asked());
}

TEST_F(MuteResolver, ALostSessionIsGivenUpInTime) {
    target = "alias.test";
    RPMEMpool* const pool = created();
    set_command("exit 1");
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    while (was_asked()) {
    }
    // RPMEM_RECONNECT_TIMEOUT, RPMEM_PEER_TIMEOUT, one try, and a margin for other tests.
    const Deadline deadline(std::chrono::seconds(3 + 4 + 3 + 10));
    EXPECT_NE(persist_until_it_fails(pool), 0);
    EXPECT_FALSE(deadline.passed());
    EXPECT_TRUE(was_asked());
    EXPECT_NE(rpmem_close(pool), 0);
}

} // namespace
} // namespace rpmem::test
