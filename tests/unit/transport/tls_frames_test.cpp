// Frames in TLS: what a lane sees of it is nothing, and nobody sleeps on what has come.
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "tests/unit/transport/tls_ends.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <thread>

namespace rpmem::transport::tls_ends {
namespace {

using wire::FrameHeader;
using wire::FrameType;

constexpr std::chrono::milliseconds long_time(20000);
constexpr std::chrono::milliseconds short_time(10000); // so long one sleeps in vain

// Keeps what comes; large payloads go to a place of their own.
class Keeper : public Receiver {
public:
    bool begin(const FrameHeader& header, std::span<std::byte>& place, std::string&) override {
        payload.clear();
        if (header.type == FrameType::data) {
            payload.resize(header.length);
            place = payload;
        }
        return true;
    }
    void take(const FrameHeader&, std::size_t, std::span<const std::byte> chunk) override {
        payload.insert(payload.end(), chunk.begin(), chunk.end());
    }
    bool end(const FrameHeader& header, std::string&) override {
        frames.push_back(header);
        return true;
    }
    std::vector<FrameHeader> frames;
    Buffer payload; // of the last
};

// One end with its own group.
struct End {
    End(std::unique_ptr<TlsStream> stream, std::size_t buffer_size)
        : stream_(*stream), connection(std::move(stream), "lane 3"),
          group(std::chrono::microseconds(0), buffer_size) {
        EXPECT_TRUE(group.add(connection));
    }
    // False: it slept in vain.
    bool poll_until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
        while (!done()) {
            const WaitResult waited = group.wait(limit, wake.fd());
            if (waited == WaitResult::timed_out)
                return false;
            for (Connection* const each : group.ready())
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
    Keeper receiver;
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

TEST_F(TlsFramesTest, FramesGoBothWays) {
    const Buffer piece = counted(1000);
    for (std::uint64_t i = 1; i <= 10; ++i)
        ASSERT_EQ(initiator->connection.post(
                      {.type = FrameType::write, .length = 1000, .offset = 4096, .number = i},
                      piece, i < 10 ? More::follows : More::none),
                  PostResult::yes);
    EXPECT_EQ(initiator->connection.released(), 10U);
    EXPECT_FALSE(initiator->connection.unsent());
    ASSERT_TRUE(
        target->poll_until([&] { return target->receiver.frames.size() == 10; }, long_time));
    EXPECT_EQ(target->receiver.payload, piece);
    ASSERT_EQ(target->connection.post({.type = FrameType::ack, .number = 10}, {}, More::none),
              PostResult::yes);
    ASSERT_TRUE(
        initiator->poll_until([&] { return initiator->receiver.frames.size() == 1; }, long_time));
    EXPECT_EQ(initiator->receiver.frames[0].number, 10U);
}

// More than the network takes at once, into memory of the reader.
TEST_F(TlsFramesTest, LargeDataGoToTheirPlace) {
    constexpr std::size_t size = std::size_t{4} << 20;
    const Buffer bytes = counted(size);
    ASSERT_EQ(target->connection.post({.type = FrameType::data, .length = size, .number = 1}, bytes,
                                      More::none),
              PostResult::yes);
    EXPECT_TRUE(target->connection.unsent());
    std::thread sender([&] {
        EXPECT_TRUE(target->poll_until([&] { return !target->connection.unsent(); }, long_time));
    });
    EXPECT_TRUE(
        initiator->poll_until([&] { return initiator->receiver.frames.size() == 1; }, long_time));
    sender.join();
    EXPECT_TRUE(initiator->receiver.payload == bytes);
    EXPECT_EQ(target->connection.released(), 1U);
}

// Each round ends somewhere else in a turn, a record and a buffer. The sender sends nothing more
// until it is answered: who sleeps on bytes that have come already sleeps for ever.
TEST_F(TlsFramesTest, NobodySleepsOnWhatHasCome) {
    constexpr std::uint64_t rounds = 200;
    constexpr std::size_t most = std::size_t{600} * 1024;
    const Buffer bytes = counted(most);
    std::thread sender([&] {
        for (std::uint64_t i = 1; i <= rounds; ++i) {
            const std::size_t size = most / 2 + i * 1531 % (most / 2);
            ASSERT_EQ(initiator->connection.post({.type = FrameType::write,
                                                  .length = static_cast<std::uint32_t>(size),
                                                  .number = i},
                                                 std::span(bytes).first(size), More::none),
                      PostResult::yes);
            ASSERT_TRUE(initiator->poll_until(
                [&] { return initiator->receiver.frames.size() == i; }, long_time));
        }
    });
    bool slept_in_vain = false;
    for (std::uint64_t i = 1; i <= rounds; ++i) {
        const auto come = [&] { return target->receiver.frames.size() == i; };
        if (!target->poll_until(come, short_time)) {
            slept_in_vain = true;
            EXPECT_TRUE(target->poll_until(come, long_time));
        }
        static_cast<void>(
            target->connection.post({.type = FrameType::ack, .number = i}, {}, More::none));
    }
    sender.join();
    EXPECT_FALSE(slept_in_vain);
}

// The network is full of something else; what was posted last is no more than a record, which is
// encrypted and cannot go.
TEST_F(TlsFramesTest, WhatIsEncryptedIsUnsentUntilTheNetworkTakesIt) {
    connect(joined(100));
    const Buffer piece = counted(1000);
    ASSERT_EQ(initiator->connection.post({.type = FrameType::write, .length = 1000, .number = 1},
                                         piece, More::none),
              PostResult::yes);
    EXPECT_EQ(initiator->connection.released(), 1U) << "its bytes are read no more";
    EXPECT_TRUE(initiator->connection.unsent());
    ASSERT_TRUE(initiator->poll_until([&] { return !initiator->connection.unsent(); }, long_time));
    ASSERT_TRUE(target->poll_until([&] { return target->receiver.frames.size() == 1; }, long_time));
}

TEST_F(TlsFramesTest, ClosingIsInOrder) {
    initiator->connection.close();
    ASSERT_TRUE(target->poll_until([&] { return target->connection.ended(); }, long_time));
    EXPECT_EQ(target->connection.failure().fault, Fault::closed);
}

TEST_F(TlsFramesTest, ClosingIsInOrderWhereTheNetworkIsNarrow) {
    connect(joined(10));
    initiator->connection.close();
    EXPECT_TRUE(initiator->connection.unsent());
    ASSERT_TRUE(initiator->poll_until([&] { return !initiator->connection.unsent(); }, long_time));
    ASSERT_TRUE(target->poll_until([&] { return target->connection.ended(); }, long_time));
    EXPECT_EQ(target->connection.failure().fault, Fault::closed);
}

TEST_F(TlsFramesTest, ABareEndIsALoss) {
    ASSERT_EQ(::shutdown(initiator->stream_.fd(), SHUT_WR), 0);
    ASSERT_TRUE(target->poll_until([&] { return target->connection.ended(); }, long_time));
    const ConnectionFailure& failure = target->connection.failure();
    EXPECT_EQ(failure.fault, Fault::lost);
    EXPECT_EQ(failure.code, ECONNRESET);
    EXPECT_NE(failure.text.find("lane 3: cannot receive: the end came without close_notify"),
              std::string::npos)
        << failure.text;
}

// A frame and falsified bytes come together: the frame is taken, and the rest is not slept upon.
TEST_F(TlsFramesTest, FalsifiedBytesBreakTheProtocol) {
    ASSERT_EQ(initiator->connection.post({.type = FrameType::ack, .number = 1}, {}, More::none),
              PostResult::yes);
    ASSERT_EQ(::send(initiator->stream_.fd(), counted(100).data(), 100, 0), 100);
    target->connection.poll(target->receiver);
    EXPECT_EQ(target->receiver.frames.size(), 1U);
    ASSERT_TRUE(target->connection.ended());
    const ConnectionFailure& failure = target->connection.failure();
    EXPECT_EQ(failure.fault, Fault::broke_protocol);
    EXPECT_EQ(failure.code, EPROTO);
    EXPECT_NE(failure.text.find("the peer broke the rules of the stream: "), std::string::npos)
        << failure.text;
    EXPECT_EQ(target->connection.post({.type = FrameType::error}, {}, More::none),
              PostResult::ended);
}

} // namespace
} // namespace rpmem::transport::tls_ends
