// SPDX-License-Identifier: BSD-3-Clause
// Tests FrameConnection on a Unix socket pair whose other end is a bare socket of the test. The
// test fails if frames are sent in another order or with other bytes, if received pieces of any
// size give other frames, if a violation or a damaged header does not end the connection, if an
// error frame is lost at the end, or if poll() occupies its thread without a limit.
#include "common/base/io.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "tests/unit/common/transport/collector.hpp"

#include <malloc.h>
#include <sys/socket.h>

#include <numeric>

namespace rpmem::transport {
namespace {

using wire::FrameHeader;
using wire::FrameType;

class FrameConnectionTest : public ::testing::Test {
protected:
    FrameConnectionTest() {
        auto pair = test::value_of(make_socket_pair());
        raw = std::move(pair.theirs);
        connection = std::make_unique<FrameConnection>(
            std::make_unique<SocketStream>(std::move(pair.ours)), "lane 3");
        connection->receive_in(buffer);
    }

    void say(std::span<const std::byte> bytes) const {
        ASSERT_TRUE(write_fully(raw.get(), bytes, Deadline(std::chrono::seconds(10))));
    }
    static void append(Buffer& stream, const FrameHeader& header, const Buffer& payload = {}) {
        const auto bytes = wire::encode(header);
        stream.insert(stream.end(), bytes.begin(), bytes.end());
        stream.insert(stream.end(), payload.begin(), payload.end());
    }
    static Buffer frame(const FrameHeader& header, const Buffer& payload = {}) {
        Buffer whole;
        append(whole, header, payload);
        return whole;
    }
    // Expects the end of the connection, with FAULT, after the bytes received so far.
    void expect_end(Fault fault, int code = 0) {
        for (int turn = 0; turn < 2; ++turn) // the first turn delivers earlier bytes
            connection->poll(collector);
        EXPECT_EQ(connection->failure().fault, fault);
        EXPECT_TRUE(code == 0 || connection->failure().code == code);
    }
    Buffer receive(std::size_t size) const {
        Buffer bytes(size);
        const auto got = read_fully(raw.get(), bytes, Deadline(std::chrono::seconds(10)));
        EXPECT_TRUE(got && *got == size);
        return bytes;
    }

    UniqueFd raw;
    Buffer buffer = Buffer(std::size_t{64} * 1024);
    std::unique_ptr<FrameConnection> connection;
    Collector collector;
};

// Frames that are posted with More::follows are sent together with the next one.
TEST_F(FrameConnectionTest, FramesWithOthersBehindThemWait) {
    const Buffer piece = counted(100);
    Buffer expected;
    for (std::uint64_t number = 1; number <= 3; ++number) {
        const FrameHeader header{
            .type = FrameType::write, .length = 100, .offset = number, .number = number};
        append(expected, header, piece);
        EXPECT_EQ(connection->released(), 0U);
        EXPECT_EQ(connection->post(header, piece, number < 3 ? More::follows : More::none),
                  PostResult::yes);
    }
    EXPECT_EQ(connection->released(), 3U);
    EXPECT_EQ(receive(expected.size()), expected);
}

// The network may accept a part of a frame, which can end at any byte. No byte is lost or repeated.
TEST_F(FrameConnectionTest, WhatTheNetworkDoesNotTakeWaits) {
    constexpr std::uint64_t count = 400;
    constexpr std::size_t size = 10007;
    const int small = 8192;
    ASSERT_EQ(::setsockopt(connection->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    const Buffer piece = counted(size);
    Buffer expected;
    Buffer received;
    std::array<std::byte, 4099> chunk;
    std::uint64_t posted = 0;
    bool was_full = false;
    while (received.size() < count * (size + 32)) {
        while (posted < count) {
            const FrameHeader header{
                .type = FrameType::write, .length = size, .offset = 0, .number = posted + 1};
            const PostResult result =
                connection->post(header, piece, posted % 3 == 0 ? More::none : More::follows);
            if (result == PostResult::full) {
                was_full = true;
                EXPECT_TRUE(connection->unsent());
                break;
            }
            ASSERT_EQ(result, PostResult::yes);
            append(expected, header, piece);
            ++posted;
        }
        const ssize_t got = ::recv(raw.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got > 0)
            received.insert(received.end(), chunk.begin(), chunk.begin() + got);
        connection->poll(collector);
        if (connection->unsent()) {
            ASSERT_LT(connection->released(), posted);
        }
    }
    EXPECT_TRUE(was_full);
    EXPECT_EQ(connection->released(), count);
    EXPECT_FALSE(connection->unsent());
    EXPECT_TRUE(received == expected);
}

// The same frames must be delivered, whatever the size of the received pieces is. The collector
// checks that no word of the pool is split.
TEST_F(FrameConnectionTest, TakesFramesInPiecesOfAnySize) {
    const std::vector<std::pair<FrameHeader, std::size_t>> sent = {
        {{.type = FrameType::write, .length = 1, .offset = 4097, .number = 1}, 1},
        {{.type = FrameType::write, .length = 100, .offset = 4099, .number = 2}, 100},
        {{.type = FrameType::persist, .length = 4096, .offset = 64, .number = 3}, 0},
        {{.type = FrameType::read, .length = 512, .offset = 64, .number = 4}, 0},
        {{.type = FrameType::write, .length = 64, .offset = 8192, .number = 5}, 64},
        {{.type = FrameType::data, .length = 333, .offset = 5, .number = 6}, 333},
        {{.type = FrameType::ack, .number = 7}, 0},
    };
    Buffer stream;
    for (const auto& [header, size] : sent)
        append(stream, header, counted(size));
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        collector = {};
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            const auto part = std::span(stream).subspan(at, std::min(piece, stream.size() - at));
            say(part);
            EXPECT_EQ(connection->poll(collector), part.size());
        }
        ASSERT_EQ(collector.headers.size(), sent.size()) << piece;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            EXPECT_EQ(collector.headers[i], sent[i].first) << piece;
            EXPECT_EQ(collector.payloads[i], counted(sent[i].second)) << piece << ' ' << i;
        }
    }
    EXPECT_EQ(connection->poll(collector), 0U);
    EXPECT_FALSE(connection->ended());
}

// The payload is much larger than the buffer of the connection.
TEST_F(FrameConnectionTest, LargeDataGoToTheirPlace) {
    constexpr std::size_t size = std::size_t{1} << 20;
    connection->receive_in(std::span(buffer).first(8192));
    const FrameHeader header{.type = FrameType::data, .length = size, .offset = 0, .number = 1};
    std::thread sender([&] {
        Buffer both = frame(header, counted(size));
        append(both, {.type = FrameType::ack, .number = 2});
        say(both);
    });
    const Deadline deadline(std::chrono::seconds(10));
    while (collector.headers.size() < 2 && !deadline.passed())
        connection->poll(collector);
    sender.join();
    ASSERT_EQ(collector.headers.size(), 2U);
    EXPECT_TRUE(collector.payloads[0] == counted(size));
    EXPECT_EQ(collector.headers[1].number, 2U);
}

TEST_F(FrameConnectionTest, ADamagedHeaderEndsTheConnection) {
    Buffer bytes = frame({.type = FrameType::ack, .number = 1});
    bytes[16] = std::byte{2};
    say(bytes);
    connection->poll(collector);
    ASSERT_TRUE(connection->ended());
    EXPECT_EQ(connection->failure().fault, Fault::damaged) << "another connection may do";
    EXPECT_TRUE(
        test::contains(connection->failure().text, "lane 3: received a header with checksum 0x"));
    const FrameHeader error{.type = FrameType::error, .length = 3, .offset = 1};
    const Buffer words = counted(3);
    EXPECT_EQ(connection->post(error, words, More::none), PostResult::yes);
    EXPECT_EQ(receive(35), frame(error, words)) << "the peer is told";
}

// The error frame is sent even if unsent frames are queued before it, and while the peer continues
// to send.
TEST_F(FrameConnectionTest, APeerThatBrokeTheRulesHearsWhyBehindWhatWasUnsent) {
    const FrameHeader header{.type = FrameType::data, .length = 8U << 20, .number = 1};
    const FrameHeader error{.type = FrameType::error, .length = 3, .offset = 1};
    const Buffer piece = counted(header.length);
    const Buffer words = counted(3);
    ASSERT_EQ(connection->post(header, piece, More::none), PostResult::yes);
    ASSERT_TRUE(connection->unsent());
    say(Buffer(32));
    connection->poll(collector);
    ASSERT_EQ(connection->failure().fault, Fault::damaged);
    EXPECT_EQ(connection->post(error, words, More::none), PostResult::yes);
    connection->close();
    say(counted(1000));

    std::thread sender([this] {
        const Deadline deadline(std::chrono::seconds(10));
        while (connection->unsent() && !deadline.passed())
            EXPECT_EQ(connection->poll(collector), 0U);
        EXPECT_FALSE(connection->unsent());
    });
    static_cast<void>(receive(32 + piece.size()));
    EXPECT_EQ(receive(35), frame(error, words));
    EXPECT_EQ(receive(32), frame({.type = FrameType::bye}));
    sender.join();
    std::byte none;
    EXPECT_EQ(::recv(raw.get(), &none, 1, 0), 0) << "and then the end";
    EXPECT_GE(connection->fd(), 0);
    raw.reset();
    connection->poll(collector);
    EXPECT_EQ(connection->fd(), -1) << "both have ended";
    EXPECT_EQ(connection->failure().fault, Fault::damaged);
}

TEST_F(FrameConnectionTest, AByeAndTheEndAreInOrder) {
    say(frame({.type = FrameType::bye}));
    connection->poll(collector);
    EXPECT_FALSE(connection->ended());
    raw.reset();
    expect_end(Fault::closed);
}

TEST_F(FrameConnectionTest, NothingComesBehindABye) {
    say(frame({.type = FrameType::bye}));
    say(frame({.type = FrameType::ack, .number = 1}));
    expect_end(Fault::broke_protocol);
    EXPECT_TRUE(collector.headers.empty());
}

TEST_F(FrameConnectionTest, AnEndWithoutAByeIsALoss) {
    const Buffer ack = frame({.type = FrameType::ack, .number = 1});
    say(std::span(ack).first(31));
    raw.reset();
    expect_end(Fault::lost, ECONNRESET);
    EXPECT_TRUE(collector.headers.empty());
}

// The peer sends an error frame and closes the connection. The error must be delivered although a
// frame could not be sent.
TEST_F(FrameConnectionTest, ThePeersLastWordsGoBeforeAFailedSend) {
    say(frame({.type = FrameType::error,
               .length = 4,
               .offset = wire::offset_of_error(wire::ErrorKind::medium, EIO)},
              counted(4)));
    raw.reset();
    EXPECT_EQ(connection->post({.type = FrameType::write, .length = 4, .number = 1}, counted(4),
                               More::none),
              PostResult::ended);
    EXPECT_FALSE(connection->ended());
    expect_end(Fault::lost);
    ASSERT_EQ(collector.headers.size(), 1U);
    EXPECT_EQ(collector.headers[0].type, FrameType::error);
}

TEST_F(FrameConnectionTest, ClosingSaysByeBehindWhatWasPosted) {
    const FrameHeader header{.type = FrameType::write, .length = 8, .number = 1};
    const Buffer piece = counted(8);
    ASSERT_EQ(connection->post(header, piece, More::follows), PostResult::yes);
    connection->close();
    Buffer expected = frame(header, piece);
    append(expected, {.type = FrameType::bye});
    EXPECT_EQ(receive(expected.size()), expected);
    std::byte none;
    EXPECT_EQ(::recv(raw.get(), &none, 1, 0), 0) << "and then the end";
    EXPECT_EQ(connection->post(header, piece, More::none), PostResult::ended);
}

// In a child made by fork(2), a lock of malloc(3) may stay locked for ever. The name is long
// because mallinfo2(3) does not show small allocations from the cache of the thread.
TEST_F(FrameConnectionTest, ItsReleaseInAChildLeavesTheHeapAlone) {
    auto pair = test::value_of(make_socket_pair());
    FrameConnection released(std::make_unique<SocketStream>(std::move(pair.ours)),
                             std::string(4000, 'x'));
    const auto before = ::mallinfo2();
    released.release_in_child();
    const auto after = ::mallinfo2();
    EXPECT_EQ(after.uordblks, before.uordblks);
    std::byte none;
    EXPECT_EQ(::recv(pair.theirs.get(), &none, 1, 0), 0) << "its descriptor is open";
}

// A thread serves several connections, so one of them must not occupy it.
TEST_F(FrameConnectionTest, ATurnIsBounded) {
    constexpr std::size_t size = std::size_t{4} << 20;
    std::thread sender([&] {
        say(frame({.type = FrameType::write, .length = size, .number = 1}, counted(size)));
    });
    std::size_t total = 0;
    const Deadline deadline(std::chrono::seconds(10));
    while (collector.headers.empty() && !deadline.passed()) {
        const std::size_t got = connection->poll(collector);
        EXPECT_LE(got, (std::size_t{256} + 64) * 1024);
        total += got;
    }
    sender.join();
    EXPECT_EQ(total, size + 32);
    ASSERT_EQ(collector.payloads.size(), 1U);
    EXPECT_TRUE(collector.payloads[0] == counted(size));
}

} // namespace
} // namespace rpmem::transport
