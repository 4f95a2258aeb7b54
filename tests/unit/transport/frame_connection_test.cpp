// Frames on real sockets: whole, in pieces, out of order, and of peers who break the rules.
#include "common/base/io.hpp"
#include "common/transport/tcp/frame_connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::transport {
namespace {

using wire::FrameHeader;
using wire::FrameType;
using Buffer = std::vector<std::byte>;

Buffer counted(std::size_t size) {
    Buffer bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    return bytes;
}

// Keeps what comes, as a target's worker would.
class Collector : public Receiver {
public:
    bool begin(const FrameHeader& header, std::span<std::byte>& place, std::string& why) override {
        if (header.type == refused) {
            why = "sent what nobody wants";
            return false;
        }
        payload.clear();
        if (header.type == FrameType::data) {
            answer.assign(header.length, std::byte{0});
            place = answer;
        }
        return true;
    }
    void take(const FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override {
        EXPECT_EQ(position, payload.size());
        const bool is_last = position + chunk.size() == header.length;
        EXPECT_TRUE(is_last || (header.offset + position + chunk.size()) % 8 == 0)
            << "a word of the pool is cut";
        payload.insert(payload.end(), chunk.begin(), chunk.end());
    }
    bool end(const FrameHeader& header, std::string&) override {
        frames.push_back(header);
        payloads.push_back(header.type == FrameType::data ? answer : payload);
        return true;
    }

    FrameType refused{};
    std::vector<FrameHeader> frames;
    std::vector<Buffer> payloads;
    Buffer payload;
    Buffer answer;
};

class FrameConnectionTest : public ::testing::Test {
protected:
    FrameConnectionTest() {
        auto pair = make_socket_pair();
        EXPECT_TRUE(pair);
        raw = std::move(pair->theirs);
        connection = std::make_unique<FrameConnection>(
            std::make_unique<SocketStream>(std::move(pair->ours)), "lane 3");
        connection->receive_in(buffer);
    }

    void say(std::span<const std::byte> bytes) const {
        ASSERT_TRUE(write_fully(raw.get(), bytes, Deadline(std::chrono::seconds(10))));
    }
    static Buffer frame(const FrameHeader& header, const Buffer& payload = {}) {
        const auto bytes = wire::encode(header);
        Buffer whole(bytes.begin(), bytes.end());
        whole.insert(whole.end(), payload.begin(), payload.end());
        return whole;
    }
    Buffer hear(std::size_t size) const {
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

TEST_F(FrameConnectionTest, SendsAHeaderAndItsPieceAsTheyAre) {
    const Buffer piece = counted(1000);
    const FrameHeader header{.type = FrameType::write, .length = 1000, .offset = 4096, .number = 1};
    EXPECT_EQ(connection->post(header, piece, More::none), PostResult::yes);
    EXPECT_FALSE(connection->unsent());
    EXPECT_EQ(connection->released(), 1U);
    EXPECT_EQ(hear(1032), frame(header, piece));
}

// They go by one call, and only when the last is posted.
TEST_F(FrameConnectionTest, FramesWithOthersBehindThemWait) {
    const Buffer piece = counted(100);
    Buffer expected;
    for (std::uint64_t number = 1; number <= 3; ++number) {
        const FrameHeader header{
            .type = FrameType::write, .length = 100, .offset = number, .number = number};
        const Buffer bytes = frame(header, piece);
        expected.insert(expected.end(), bytes.begin(), bytes.end());
        EXPECT_EQ(connection->released(), 0U);
        EXPECT_EQ(connection->post(header, piece, number < 3 ? More::follows : More::none),
                  PostResult::yes);
    }
    EXPECT_EQ(connection->released(), 3U);
    EXPECT_EQ(hear(expected.size()), expected);
}

// The network takes what it can, at any byte; nothing is lost, doubled or read too late.
TEST_F(FrameConnectionTest, WhatTheNetworkDoesNotTakeWaits) {
    constexpr std::uint64_t count = 400;
    constexpr std::size_t size = 10007;
    const int small = 8192;
    ASSERT_EQ(::setsockopt(connection->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
    const Buffer piece = counted(size);
    Buffer expected;
    Buffer heard;
    std::array<std::byte, 4099> chunk;
    std::uint64_t posted = 0;
    bool was_full = false;
    while (heard.size() < count * (size + 32)) {
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
            const Buffer bytes = frame(header, piece);
            expected.insert(expected.end(), bytes.begin(), bytes.end());
            ++posted;
        }
        const ssize_t got = ::recv(raw.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (got > 0)
            heard.insert(heard.end(), chunk.begin(), chunk.begin() + got);
        connection->poll(collector);
        ASSERT_LE(connection->released(), posted);
    }
    EXPECT_TRUE(was_full);
    EXPECT_EQ(connection->released(), count);
    EXPECT_FALSE(connection->unsent());
    EXPECT_TRUE(heard == expected);
}

// However the bytes come, the same frames come of them, and no word of the pool is cut.
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
    for (const auto& [header, size] : sent) {
        const Buffer bytes = frame(header, counted(size));
        stream.insert(stream.end(), bytes.begin(), bytes.end());
    }
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        collector = {};
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            const auto part = std::span(stream).subspan(at, std::min(piece, stream.size() - at));
            say(part);
            EXPECT_EQ(connection->poll(collector), part.size());
        }
        ASSERT_EQ(collector.frames.size(), sent.size()) << piece;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            EXPECT_EQ(collector.frames[i], sent[i].first) << piece;
            EXPECT_EQ(collector.payloads[i], counted(sent[i].second)) << piece << ' ' << i;
        }
    }
    EXPECT_EQ(connection->poll(collector), 0U);
    EXPECT_FALSE(connection->ended());
}

// Most of it goes there without the detour over the buffer, which is smaller.
TEST_F(FrameConnectionTest, LargeDataGoToTheirPlace) {
    constexpr std::size_t size = std::size_t{1} << 20;
    connection->receive_in(std::span(buffer).first(8192));
    const FrameHeader header{.type = FrameType::data, .length = size, .offset = 0, .number = 1};
    std::thread sender([&] {
        Buffer both = frame(header, counted(size));
        const Buffer next = frame({.type = FrameType::ack, .number = 2});
        both.insert(both.end(), next.begin(), next.end());
        say(both);
    });
    const Deadline deadline(std::chrono::seconds(10));
    while (collector.frames.size() < 2 && !deadline.passed())
        connection->poll(collector);
    sender.join();
    ASSERT_EQ(collector.frames.size(), 2U);
    EXPECT_TRUE(collector.payloads[0] == counted(size));
    EXPECT_EQ(collector.frames[1].number, 2U);
}

TEST_F(FrameConnectionTest, ADamagedHeaderEndsTheConnection) {
    Buffer bytes = frame({.type = FrameType::ack, .number = 1});
    bytes[16] = std::byte{2};
    say(bytes);
    connection->poll(collector);
    ASSERT_TRUE(connection->ended());
    EXPECT_EQ(connection->failure().fault, Fault::broke_protocol);
    EXPECT_NE(connection->failure().text.find("lane 3: the peer sent a header"), std::string::npos)
        << connection->failure().text;
    const FrameHeader error{.type = FrameType::error, .length = 3, .offset = 1};
    const Buffer words = counted(3);
    EXPECT_EQ(connection->post(error, words, More::none), PostResult::yes);
    EXPECT_EQ(hear(35), frame(error, words)) << "the peer is told";
}

TEST_F(FrameConnectionTest, WhatTheReceiverRefusesEndsTheConnection) {
    collector.refused = FrameType::welcome;
    Buffer both = frame({.type = FrameType::ack, .number = 1});
    const Buffer bad = frame({.type = FrameType::welcome, .length = 16}, counted(16));
    both.insert(both.end(), bad.begin(), bad.end());
    say(both);
    connection->poll(collector);
    EXPECT_EQ(connection->failure().fault, Fault::broke_protocol);
    EXPECT_NE(connection->failure().text.find("sent what nobody wants"), std::string::npos);
    EXPECT_EQ(collector.frames.size(), 1U) << "what came before is taken";
}

// Why it ends is told even where the network had no room for it at first; the peer may go on
// sending meanwhile.
TEST_F(FrameConnectionTest, APeerThatBrokeTheRulesHearsWhyBehindWhatWasUnsent) {
    const FrameHeader header{.type = FrameType::data, .length = 8U << 20, .number = 1};
    const FrameHeader error{.type = FrameType::error, .length = 3, .offset = 1};
    const Buffer piece = counted(header.length);
    const Buffer words = counted(3);
    ASSERT_EQ(connection->post(header, piece, More::none), PostResult::yes);
    ASSERT_TRUE(connection->unsent());
    say(Buffer(32));
    connection->poll(collector);
    ASSERT_EQ(connection->failure().fault, Fault::broke_protocol);
    EXPECT_EQ(connection->post(error, words, More::none), PostResult::yes);
    connection->close();
    say(counted(1000));

    std::thread sender([this] {
        const Deadline deadline(std::chrono::seconds(10));
        while (connection->unsent() && !deadline.passed())
            EXPECT_EQ(connection->poll(collector), 0U);
        EXPECT_FALSE(connection->unsent());
    });
    static_cast<void>(hear(32 + piece.size()));
    EXPECT_EQ(hear(35), frame(error, words));
    EXPECT_EQ(hear(32), frame({.type = FrameType::bye}));
    sender.join();
    std::byte none;
    EXPECT_EQ(::recv(raw.get(), &none, 1, 0), 0) << "and then the end";
    EXPECT_GE(connection->fd(), 0);
    raw.reset();
    connection->poll(collector);
    EXPECT_EQ(connection->fd(), -1) << "both have ended";
    EXPECT_EQ(connection->failure().fault, Fault::broke_protocol);
}

TEST_F(FrameConnectionTest, AByeAndTheEndAreInOrder) {
    say(frame({.type = FrameType::bye}));
    connection->poll(collector);
    EXPECT_FALSE(connection->ended());
    raw.reset();
    connection->poll(collector);
    EXPECT_EQ(connection->failure().fault, Fault::closed);
}

TEST_F(FrameConnectionTest, NothingComesBehindABye) {
    say(frame({.type = FrameType::bye}));
    say(frame({.type = FrameType::ack, .number = 1}));
    connection->poll(collector);
    connection->poll(collector);
    EXPECT_EQ(connection->failure().fault, Fault::broke_protocol);
    EXPECT_TRUE(collector.frames.empty());
}

TEST_F(FrameConnectionTest, AnEndWithoutAByeIsALoss) {
    const Buffer ack = frame({.type = FrameType::ack, .number = 1});
    say(std::span(ack).first(31));
    raw.reset();
    connection->poll(collector);
    connection->poll(collector);
    EXPECT_EQ(connection->failure().fault, Fault::lost);
    EXPECT_EQ(connection->failure().code, ECONNRESET);
    EXPECT_TRUE(collector.frames.empty());
}

// The peer says why it ends the session, and then does: the words must not be lost because a frame
// could not be sent.
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
    connection->poll(collector);
    connection->poll(collector);
    ASSERT_EQ(collector.frames.size(), 1U);
    EXPECT_EQ(collector.frames[0].type, FrameType::error);
    EXPECT_EQ(connection->failure().fault, Fault::lost);
}

TEST_F(FrameConnectionTest, ClosingSaysByeBehindWhatWasPosted) {
    const FrameHeader header{.type = FrameType::write, .length = 8, .number = 1};
    const Buffer piece = counted(8);
    ASSERT_EQ(connection->post(header, piece, More::follows), PostResult::yes);
    connection->close();
    Buffer expected = frame(header, piece);
    const Buffer bye = frame({.type = FrameType::bye});
    expected.insert(expected.end(), bye.begin(), bye.end());
    EXPECT_EQ(hear(expected.size()), expected);
    std::byte none;
    EXPECT_EQ(::recv(raw.get(), &none, 1, 0), 0) << "and then the end";
    EXPECT_EQ(connection->post(header, piece, More::none), PostResult::ended);
}

TEST_F(FrameConnectionTest, NothingHappensToOneThatWasLetGo) {
    connection->release_in_child();
    EXPECT_TRUE(connection->ended());
    EXPECT_EQ(connection->poll(collector), 0U);
    EXPECT_EQ(connection->post({.type = FrameType::write}, {}, More::none), PostResult::ended);
    connection->close();
}

// One connection must not keep a thread that serves others.
TEST_F(FrameConnectionTest, ATurnIsBounded) {
    constexpr std::size_t size = std::size_t{4} << 20;
    std::thread sender([&] {
        say(frame({.type = FrameType::write, .length = size, .number = 1}, counted(size)));
    });
    std::size_t total = 0;
    const Deadline deadline(std::chrono::seconds(10));
    while (collector.frames.empty() && !deadline.passed()) {
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
