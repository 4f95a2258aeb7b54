// Connections that have not become lanes, on a clock of the test's.
#include "base/unique_fd.hpp"
#include "lanes/half_open.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

namespace rpmem::target {
namespace {

using std::chrono::seconds;

// Both ends of a connection to a port of this process, as those of libfabric are.
struct Connection {
    UniqueFd theirs;
    UniqueFd ours;
};

class HalfOpenTest : public ::testing::Test {
protected:
    HalfOpenTest() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* const name = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(listener_.get(), name, size), 0);
        EXPECT_EQ(::listen(listener_.get(), 64), 0);
        EXPECT_EQ(::getsockname(listener_.get(), name, &size), 0);
        address_ = address;
        port = ntohs(address.sin_port);
    }

    [[nodiscard]] Connection connect() const {
        Connection made{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), UniqueFd()};
        EXPECT_EQ(::connect(made.theirs.get(), reinterpret_cast<const sockaddr*>(&address_),
                            sizeof(address_)),
                  0);
        made.ours.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        EXPECT_TRUE(made.ours);
        return made;
    }

    // The address by which a lane is known.
    static sockaddr_storage peer_of(const Connection& connection) {
        sockaddr_storage peer{};
        socklen_t size = sizeof(peer);
        EXPECT_EQ(::getpeername(connection.ours.get(), reinterpret_cast<sockaddr*>(&peer), &size),
                  0);
        return peer;
    }

    static bool is_ended(const Connection& connection) {
        char byte = 0;
        return ::recv(connection.ours.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno != EAGAIN;
    }

    unsigned look_at(seconds time, const std::vector<sockaddr_storage>& of_lanes = {}) {
        return half_open.look(port, of_lanes, HalfOpen::Clock::time_point() + time);
    }

    std::uint16_t port = 0;
    HalfOpen half_open;

private:
    UniqueFd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address_{};
};

TEST_F(HalfOpenTest, LanesStayAndTheOthersHaveTenSeconds) {
    const Connection lane = connect();
    const Connection other = connect();
    // They may have come right after the last look, which is 5 seconds ago at most.
    EXPECT_EQ(look_at(seconds(100), {peer_of(lane)}), 0U);
    EXPECT_EQ(look_at(seconds(104), {peer_of(lane)}), 0U);
    EXPECT_FALSE(is_ended(other));
    EXPECT_EQ(look_at(seconds(105), {peer_of(lane)}), 1U);
    EXPECT_TRUE(is_ended(other));
    EXPECT_FALSE(is_ended(lane));
}

// The kernel gives a descriptor that was closed to the next connection.
TEST_F(HalfOpenTest, ANewConnectionIsNotAsOldAsTheOneBefore) {
    Connection first = connect();
    const int number = first.ours.get();
    EXPECT_EQ(look_at(seconds(100)), 0U);
    EXPECT_EQ(look_at(seconds(104)), 0U);
    Connection second = connect();
    ASSERT_EQ(::dup2(second.ours.get(), number), number); // which ends the first one
    second.ours = std::move(first.ours);
    EXPECT_EQ(look_at(seconds(105)), 0U);
    EXPECT_EQ(look_at(seconds(113)), 0U);
    EXPECT_FALSE(is_ended(second));
    EXPECT_EQ(look_at(seconds(114)), 1U);
    EXPECT_TRUE(is_ended(second));
}

TEST_F(HalfOpenTest, OfMoreThanSixtyFourTheOldestEnd) {
    constexpr std::size_t most = 64;
    std::vector<Connection> connections;
    connections.push_back(connect());
    EXPECT_EQ(look_at(seconds(100)), 0U);
    while (connections.size() < most)
        connections.push_back(connect());
    EXPECT_EQ(look_at(seconds(101)), 0U);
    connections.push_back(connect());
    EXPECT_EQ(look_at(seconds(102)), 1U);
    EXPECT_TRUE(is_ended(connections.front()));
    for (std::size_t i = 1; i < connections.size(); ++i)
        EXPECT_FALSE(is_ended(connections[i])) << i;
}

} // namespace
} // namespace rpmem::target
