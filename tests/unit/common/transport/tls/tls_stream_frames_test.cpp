// SPDX-License-Identifier: BSD-3-Clause
// Tests FrameConnection and SocketGroup over TlsStream, between two ends of the product. The test
// fails if a frame is lost or changed, if a group sleeps although TLS has received bytes, if a
// frame counts as sent while its record waits for the network, or if an end without close_notify or
// falsified bytes are reported as an orderly end.
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <sys/socket.h>

namespace rpmem::transport::tls_ends {
namespace {

using wire::FrameHeader;
using wire::FrameType;

constexpr std::chrono::milliseconds long_time(20000);
constexpr std::chrono::milliseconds short_time(10000); // a sleep of this time was in vain

// One end with its own group.
struct End {
    End(std::unique_ptr<TlsStream> stream, std::size_t buffer_size)
        : stream_(*stream), connection(std::move(stream), "lane 3"),
          group(std::chrono::microseconds(0), buffer_size) {
        EXPECT_TRUE(group.add(connection));
    }
    void post(const FrameHeader& header, std::span<const std::byte> piece = {}) {
        ASSERT_EQ(connection.post(header, piece, More::none), PostResult::yes);
    }
    [[nodiscard]] bool has_sent_all() {
        return poll_until([this] { return !connection.unsent(); });
    }
    [[nodiscard]] bool has_frames(std::size_t count, std::chrono::milliseconds limit = long_time) {
        return poll_until([&] { return receiver.headers.size() == count; }, limit);
    }
    // Expects the end of the connection, with FAULT.
    void expect_end(Fault fault) {
        ASSERT_TRUE(poll_until([this] { return connection.ended(); }));
        EXPECT_EQ(connection.failure().fault, fault);
    }
    // Returns false if the group slept for LIMIT.
    bool poll_until(const std::function<bool()>& done,
                    std::chrono::milliseconds limit = long_time) {
        while (!done()) {
            const WaitResult waited = group.wait(limit, wake.fd());
            if (waited == WaitResult::timed_out)
                return false;
            for (LaneConnection* const each : group.ready())
                if (each->poll(receiver) > 0)
                    group.progressed();
        }
        group.progressed();
        return true;
    }
    TlsStream& stream_;
    FrameConnection connection;
    SocketGroup group;
    Event wake = Event::make().value();
    Collector receiver;
};

class TlsFramesTest : public ::testing::Test {
protected:
    void SetUp() override { connect(joined()); }
    void connect(Ends ends) {
        initiator = std::make_unique<End>(std::move(ends.initiator), 8192);
        target = std::make_unique<End>(std::move(ends.target), std::size_t{64} * 1024);
    }
    std::unique_ptr<End> initiator;
    std::unique_ptr<End> target;
};

// The data do not fit into the socket, and arrive in memory of the receiver.
TEST_F(TlsFramesTest, LargeDataGoToTheirPlace) {
    constexpr std::size_t size = std::size_t{4} << 20;
    const Buffer bytes = counted(size);
    target->post({.type = FrameType::data, .length = size, .number = 1}, bytes);
    EXPECT_TRUE(target->connection.unsent());
    std::thread sender([&] { EXPECT_TRUE(target->has_sent_all()); });
    EXPECT_TRUE(initiator->has_frames(1));
    sender.join();
    EXPECT_TRUE(initiator->receiver.payloads.back() == bytes);
    EXPECT_EQ(target->connection.released(), 1U);
}

// Each round ends at another place in a turn, a record and a buffer. The sender waits for an ack
// after each frame, so a group that sleeps although the bytes have arrived is never woken.
TEST_F(TlsFramesTest, NobodySleepsOnWhatHasCome) {
    constexpr std::uint64_t rounds = 200;
    constexpr std::size_t most = std::size_t{600} * 1024;
    const Buffer bytes = counted(most);
    std::thread sender([&] {
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            const auto size = static_cast<std::uint32_t>(most / 2 + i * 1531 % (most / 2));
            initiator->post({.type = FrameType::write, .length = size, .number = i},
                            std::span(bytes).first(size));
            ASSERT_TRUE(initiator->has_frames(i));
        }
    });
    bool slept_in_vain = false;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        if (!target->has_frames(i, short_time)) {
            slept_in_vain = true;
            EXPECT_TRUE(target->has_frames(i));
        }
        target->post({.type = FrameType::ack, .number = i});
    }
    sender.join();
    EXPECT_FALSE(slept_in_vain);
}

// The lower stream accepts only 100 bytes at a time. The frame is one record, which is encrypted at
// once but cannot be sent at once.
TEST_F(TlsFramesTest, WhatIsEncryptedIsUnsentUntilTheNetworkTakesIt) {
    connect(joined(100));
    initiator->post({.type = FrameType::write, .length = 1000, .number = 1}, counted(1000));
    EXPECT_EQ(initiator->connection.released(), 1U) << "its bytes are read no more";
    EXPECT_TRUE(initiator->connection.unsent());
    ASSERT_TRUE(initiator->has_sent_all());
    ASSERT_TRUE(target->has_frames(1));
}

TEST_F(TlsFramesTest, ClosingIsInOrderWhereTheNetworkIsNarrow) {
    connect(joined(10));
    initiator->connection.close();
    EXPECT_TRUE(initiator->connection.unsent());
    ASSERT_TRUE(initiator->has_sent_all());
    target->expect_end(Fault::closed);
}

TEST_F(TlsFramesTest, ABareEndIsALoss) {
    ASSERT_EQ(::shutdown(initiator->stream_.fd(), SHUT_WR), 0);
    target->expect_end(Fault::lost);
    const ConnectionFailure& failure = target->connection.failure();
    EXPECT_EQ(failure.code, ECONNRESET);
    EXPECT_TRUE(test::contains(
        failure.text, "lane 3: cannot receive: the connection ended without close_notify"));
}

// A frame and falsified bytes arrive together. One poll delivers the frame and detects the damage.
TEST_F(TlsFramesTest, FalsifiedBytesAreDamage) {
    initiator->post({.type = FrameType::ack, .number = 1});
    ASSERT_EQ(::send(initiator->stream_.fd(), counted(100).data(), 100, 0), 100);
    target->connection.poll(target->receiver);
    EXPECT_EQ(target->receiver.headers.size(), 1U);
    ASSERT_TRUE(target->connection.ended());
    const ConnectionFailure& failure = target->connection.failure();
    EXPECT_EQ(failure.fault, Fault::damaged) << "another connection may do";
    EXPECT_EQ(failure.code, EPROTO);
    EXPECT_TRUE(test::contains(failure.text, "received invalid data: "));
    EXPECT_EQ(target->connection.post({.type = FrameType::error}, {}, More::none),
              PostResult::ended);
}

} // namespace
} // namespace rpmem::transport::tls_ends
