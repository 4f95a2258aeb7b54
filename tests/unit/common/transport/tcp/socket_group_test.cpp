// SPDX-License-Identifier: BSD-3-Clause
// Tests SocketGroup on Unix socket pairs, with 1 to 70 connections, so that both poll(2) and
// epoll(7) are used, and SpinPolicy with invented times. The test fails if a wait misses a
// connection, the wake descriptor or room to send, if it returns a removed connection, if it
// ignores its timeout, or if polling in vain never pauses.
#include "common/base/io.hpp"
#include "common/transport/spin_policy.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "tests/unit/common/transport/collector.hpp"

#include <sys/socket.h>

namespace rpmem::transport {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds long_time(20000);

// A sequence of waits. looks() returns whether the next wait, of duration TAKEN, polls.
class Waits {
public:
    bool looks(std::chrono::nanoseconds taken) {
        const bool result = policy_.time(now_) > std::chrono::nanoseconds(0);
        policy_.ended(now_, now_ + taken);
        now_ += taken;
        return result;
    }

private:
    SpinPolicy policy_{microseconds(50)};
    SpinPolicy::Clock::time_point now_ = SpinPolicy::Clock::now();
};

TEST(SpinPolicy, PausesWhenItIsInVainAndTriesAgain) {
    Waits waits;
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(waits.looks(microseconds(60))) << i;
    for (int pauses = 0; pauses < 3; ++pauses) {
        for (int i = 0; i < 9; ++i)
            EXPECT_FALSE(waits.looks(milliseconds(1))) << i;
        EXPECT_FALSE(waits.looks(milliseconds(2))) << "which ends after the pause";
        EXPECT_TRUE(waits.looks(microseconds(60))) << "one try";
    }
    EXPECT_FALSE(waits.looks(milliseconds(20)));
    EXPECT_TRUE(waits.looks(microseconds(10))) << "a try that helps";
    EXPECT_TRUE(waits.looks(microseconds(60)));
    EXPECT_TRUE(waits.looks(microseconds(10)));
}

TEST(SpinPolicy, ALateAnswerNowAndThenChangesNothing) {
    Waits waits;
    for (int i = 0; i < 100; ++i)
        for (const auto taken : {milliseconds(5), milliseconds(5), milliseconds(0)})
            EXPECT_TRUE(waits.looks(taken)) << i;
}

// The parameter is the number of connections. Up to 4 are polled, and more are waited for by
// epoll(7).
class SocketGroupTest : public ::testing::TestWithParam<std::size_t> {
protected:
    void SetUp() override {
        for (std::size_t i = 0; i < GetParam(); ++i) {
            auto pair = test::value_of(make_socket_pair());
            peers.push_back(std::move(pair.theirs));
            connections.push_back(std::make_unique<FrameConnection>(
                std::make_unique<SocketStream>(std::move(pair.ours)), "lane"));
            ASSERT_TRUE(group.add(*connections.back()));
        }
    }
    void say(std::size_t index) {
        const auto frame = wire::encode({.type = wire::FrameType::ack, .number = 1});
        ASSERT_EQ(::send(peers[index].get(), frame.data(), frame.size(), 0), ssize_t(frame.size()));
    }
    // Waits until connection INDEX has received something.
    void expect_received(std::size_t index) {
        std::size_t got = 0;
        while (got == 0) {
            ASSERT_EQ(group.wait(long_time, wake.fd()), WaitResult::look);
            for (LaneConnection* const each : group.ready()) {
                const std::size_t bytes = each->poll(receiver);
                if (bytes > 0) {
                    EXPECT_EQ(each, connections[index].get());
                }
                got += bytes;
            }
        }
        group.progressed();
    }

    // Repeats the wait until it ends with another result than `look`.
    WaitResult wait(SocketGroup& of, milliseconds limit) {
        WaitResult waited = WaitResult::look;
        for (const Deadline deadline(long_time); waited == WaitResult::look && !deadline.passed();)
            waited = of.wait(limit, wake.fd());
        return waited;
    }

    // Waits until the network has taken all that CONNECTION has to send.
    void send_all(LaneConnection& connection) {
        while (connection.unsent()) {
            ASSERT_EQ(group.wait(long_time, wake.fd()), WaitResult::look);
            for (LaneConnection* const each : group.ready())
                static_cast<void>(each->poll(receiver));
        }
    }

    std::vector<UniqueFd> peers;
    std::vector<std::unique_ptr<FrameConnection>> connections;
    Event wake = test::value_of(Event::make());
    Collector receiver;
    SocketGroup group{microseconds(50), 4096};
};

INSTANTIATE_TEST_SUITE_P(, SocketGroupTest, ::testing::Values(1, 4, 5, 70),
                         ::testing::PrintToStringParamName());

TEST_P(SocketGroupTest, FindsTheConnectionThatHasSomething) {
    for (std::size_t i = 0; i < GetParam(); ++i) {
        say(i);
        expect_received(i);
    }
}

TEST_P(SocketGroupTest, SleepsUntilSomethingComes) {
    std::thread later([this] {
        std::this_thread::sleep_for(milliseconds(20)); // long after the spin time
        say(GetParam() - 1);
    });
    expect_received(GetParam() - 1);
    later.join();
}

TEST_P(SocketGroupTest, IsWoken) {
    std::thread later([this] {
        std::this_thread::sleep_for(milliseconds(20)); // long after the spin time
        wake.raise();
    });
    EXPECT_EQ(wait(group, long_time), WaitResult::woken);
    later.join();
}

TEST_P(SocketGroupTest, GivesUpInTime) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(wait(group, milliseconds(30)), WaitResult::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(30));
}

// A wait that polls for a long time must also check the wake descriptor.
TEST_P(SocketGroupTest, IsWokenWhileItLooks) {
    SocketGroup patient(std::chrono::seconds(1000), 4096);
    for (const auto& connection : connections)
        ASSERT_TRUE(patient.add(*connection));
    wake.raise();
    EXPECT_EQ(wait(patient, long_time), WaitResult::woken);
}

// A wait also waits for a connection with unsent bytes until the network accepts them.
TEST_P(SocketGroupTest, WaitsForRoom) {
    LaneConnection& connection = *connections[0];
    const std::vector<std::byte> piece(std::size_t{64} * 1024);
    const wire::FrameHeader header{
        .type = wire::FrameType::write, .length = std::uint32_t(piece.size()), .number = 1};
    while (!connection.unsent())
        ASSERT_EQ(connection.post(header, piece, More::none), PostResult::yes);
    std::thread reader([&] {
        std::array<std::byte, 65536> bytes;
        while (::recv(peers[0].get(), bytes.data(), bytes.size(), 0) > 0) {
        }
    });
    send_all(connection);
    connection.close();
    send_all(connection); // the bye
    reader.join();
}

TEST_P(SocketGroupTest, WaitsForWhatWasAddedWhileTheGroupWasSmall) {
    const std::size_t kept = std::min<std::size_t>(GetParam(), 2);
    for (std::size_t i = kept; i < GetParam(); ++i)
        group.remove(*connections[i]);
    for (std::size_t i = kept; i < GetParam(); ++i)
        ASSERT_TRUE(group.add(*connections[i]));
    for (std::size_t i = kept; i < std::min<std::size_t>(GetParam(), 6); ++i) {
        // The first round of a wait polls all connections, so the frame must arrive later.
        std::thread later([this, i] {
            std::this_thread::sleep_for(milliseconds(20));
            say(i);
        });
        expect_received(i);
        later.join();
    }
}

TEST_P(SocketGroupTest, ForgetsWhatIsRemoved) {
    say(0);
    group.remove(*connections[0]);
    WaitResult waited = WaitResult::look;
    while (waited == WaitResult::look) {
        waited = group.wait(milliseconds(20), wake.fd());
        EXPECT_EQ(std::ranges::count(group.ready(), connections[0].get()), 0);
    }
    EXPECT_EQ(waited, WaitResult::timed_out);
}

} // namespace
} // namespace rpmem::transport
