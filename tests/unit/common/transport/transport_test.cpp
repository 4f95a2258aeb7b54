// SPDX-License-Identifier: BSD-3-Clause
// Tests the rules of transport.hpp on every transport: tcp and TLS on a Unix socket pair, and
// libfabric with its provider sockets, which stands for RDMA. The test fails if frames are lost,
// changed or reordered, if a connection continues after a protocol violation, if no error frame
// reaches the peer, or if direct writes arrive after the frame that follows them.
#include "tests/unit/common/transport/contract_ends.hpp"

namespace rpmem::transport::contract {
namespace {

constexpr FrameHeader small_write{.type = FrameType::write, .length = 8, .number = 1};

struct Transport {
    const char* name;
    std::function<std::unique_ptr<Pair>()> make;
};

class Contract : public ::testing::TestWithParam<Transport> {
protected:
    ::testing::AssertionResult until(const std::function<bool()>& done) {
        return pair->until(done);
    }
    void post(const FrameHeader& header, std::span<const std::byte> piece, More more = More::none) {
        PostResult posted = PostResult::full;
        ASSERT_TRUE(until([&] {
            posted = ours.connection->post(header, piece, more);
            return posted != PostResult::full;
        }));
        ASSERT_EQ(posted, PostResult::yes);
    }

    std::unique_ptr<Pair> pair = GetParam().make();
    Side& ours = pair->ours;
    Side& theirs = pair->theirs;
};

INSTANTIATE_TEST_SUITE_P(
    , Contract,
    ::testing::Values(Transport{"tcp", over_tcp}, Transport{"tls", inside_tls},
                      Transport{"fabric", [] { return std::make_unique<FabricPair>(); }}),
    [](const auto& transport) { return std::string(transport.param.name); });

// The frames have many sizes. Their pieces are within the registered pool and outside it. They are
// posted with and without More::follows.
TEST_P(Contract, FramesArriveWholeAndInOrder) {
    Buffer elsewhere = counted(payload);
    std::copy(elsewhere.begin(), elsewhere.end(), pair->our_pool.begin());
    const std::size_t sizes[] = {1, 8, 200, 224, 225, 4096, 8191, payload};
    std::vector<FrameHeader> sent;
    for (int round = 0; round < 10; ++round)
        for (const std::size_t size : sizes)
            for (Buffer* from : {&elsewhere, &pair->our_pool}) {
                const FrameHeader header{.type = size % 2 == 0 ? FrameType::write : FrameType::data,
                                         .length = static_cast<std::uint32_t>(size),
                                         .offset = 64,
                                         .number = sent.size() + 1};
                sent.push_back(header);
                post(header, std::span(*from).first(size),
                     sent.size() % 3 == 0 ? More::none : More::follows);
                if (sent.size() % frames == 0) { // like the credits of a lane
                    post({.type = FrameType::persist, .number = 0}, {});
                    ASSERT_TRUE(until([&] {
                        return theirs.taker.headers.size() == sent.size() + sent.size() / frames;
                    }));
                }
            }
    ours.connection->close();
    ASSERT_TRUE(until([&] { return ours.connection->released() > sent.size() * 9 / 8; }));
    std::size_t at = 0;
    for (std::size_t i = 0; i < theirs.taker.headers.size(); ++i) {
        if (theirs.taker.headers[i].type == FrameType::persist)
            continue;
        ASSERT_EQ(theirs.taker.headers[i], sent[at++]);
        ASSERT_EQ(std::memcmp(theirs.taker.payloads[i].data(), elsewhere.data(),
                              theirs.taker.payloads[i].size()),
                  0);
    }
    EXPECT_EQ(at, sent.size());
}

TEST_P(Contract, FramesGoBothWays) {
    const Buffer bytes(100, std::byte{3});
    post({.type = FrameType::write, .length = 100, .number = 1}, bytes);
    ASSERT_EQ(theirs.connection->post({.type = FrameType::ack, .number = 1}, {}, More::none),
              PostResult::yes);
    EXPECT_TRUE(
        until([&] { return ours.taker.headers.size() + theirs.taker.headers.size() == 2; }));
    EXPECT_EQ(ours.taker.headers.at(0).type, FrameType::ack);
}

TEST_P(Contract, WhatTheReceiverRefusesEndsTheConnectionAndIsToldOnce) {
    theirs.taker.refused = FrameType::read;
    post(small_write, Buffer(8));
    post({.type = FrameType::read, .length = 8, .number = 2}, {});
    ASSERT_TRUE(until([&] { return theirs.connection->ended(); }));
    EXPECT_EQ(theirs.taker.headers.size(), 1U);
    EXPECT_EQ(theirs.connection->failure().fault, Fault::broke_protocol);
    EXPECT_NE(theirs.connection->failure().text.find("nobody wants"), std::string::npos);
    const std::string text = theirs.connection->failure().text;
    // An error frame can still be sent.
    const std::string why = "you know why";
    EXPECT_EQ(theirs.connection->post({.type = FrameType::error,
                                       .length = static_cast<std::uint32_t>(why.size()),
                                       .offset = 1},
                                      std::as_bytes(std::span(why)), More::none),
              PostResult::yes);
    theirs.connection->close();
    ASSERT_TRUE(until([&] { return ours.connection->ended(); }));
    EXPECT_EQ(ours.connection->failure().fault, Fault::closed);
    ASSERT_EQ(ours.taker.headers.size(), 1U);
    EXPECT_EQ(ours.taker.headers[0].type, FrameType::error);
    EXPECT_EQ(theirs.connection->failure().text, text);
}

TEST_P(Contract, AFrameOfAnUnknownTypeEndsTheConnection) {
    theirs.taker.refused = FrameType{200};
    post({.type = FrameType{200}, .number = 1}, {});
    ASSERT_TRUE(until([&] { return theirs.connection->ended(); }));
    EXPECT_EQ(theirs.connection->failure().fault, Fault::broke_protocol);
    EXPECT_EQ(theirs.connection->failure().code, EBADMSG);
    EXPECT_EQ(theirs.connection->poll(theirs.taker), 0U);
}

// Another connection may work, so this is not a violation of the protocol. The same test over tcp
// is FrameConnectionTest.ADamagedHeaderEndsTheConnection.
TEST(ContractOverFabric, ADamagedHeaderIsNoBrokenProtocol) {
    FabricPair pair;
    wire::FrameBytes bytes = wire::encode(small_write);
    bytes[16] ^= std::byte{1};
    const auto word = [&](std::size_t index) {
        return wire::get_word<std::uint64_t>(&bytes[8 * index]);
    };
    const std::uint64_t checksum = wire::checksum_of(word(0), word(1), word(2));
    auto& ours = dynamic_cast<FabricConnection&>(*pair.ours.connection);
    ASSERT_TRUE(ours.say(bytes));
    ASSERT_TRUE(pair.until([&] { return pair.theirs.connection->ended(); }));
    EXPECT_EQ(pair.theirs.connection->failure().fault, Fault::damaged);
    EXPECT_TRUE(
        test::contains(pair.theirs.connection->failure().text, "a header with checksum 0x"));
    EXPECT_TRUE(test::contains(pair.theirs.connection->failure().text,
                               fmt::format("expected {:#018x}", checksum)));
    EXPECT_EQ(pair.theirs.connection->post({.type = FrameType::error, .length = 3, .offset = 1},
                                           Buffer(3), More::none),
              PostResult::yes)
        << "the peer is told";
    pair.theirs.connection->close();
    ASSERT_TRUE(pair.until([&] { return pair.ours.connection->ended(); }));
    ASSERT_EQ(pair.ours.taker.headers.size(), 1U);
    EXPECT_EQ(pair.ours.taker.headers[0].type, FrameType::error);
}

TEST_P(Contract, ClosingSaysByeBehindWhatWasPosted) {
    post(small_write, Buffer(8));
    ours.connection->close();
    EXPECT_EQ(ours.connection->post(small_write, Buffer(8), More::none), PostResult::ended);
    ASSERT_TRUE(until([&] { return theirs.connection->ended(); }));
    EXPECT_EQ(theirs.taker.headers.size(), 1U);
    EXPECT_EQ(theirs.connection->failure().fault, Fault::closed);
}

TEST_P(Contract, NothingHappensToOneThatWasGivenUp) {
    ours.connection->abandon();
    EXPECT_TRUE(ours.connection->ended());
    EXPECT_EQ(ours.connection->post(small_write, Buffer(8), More::none), PostResult::ended);
    EXPECT_EQ(ours.connection->poll(ours.taker), 0U);
}

TEST_P(Contract, AWaitIsWokenAndHasABound) {
    EXPECT_EQ(ours.group->wait(std::chrono::milliseconds(1), ours.wake.fd()),
              WaitResult::timed_out);
    ours.group->progressed();
    ours.wake.raise();
    EXPECT_EQ(ours.group->wait(test_timeout, ours.wake.fd()), WaitResult::woken);
}

// Only libfabric has direct access.
TEST_P(Contract, DirectAccessIsThereOrRefused) {
    const bool is_fabric = std::string(GetParam().name) == "fabric";
    EXPECT_EQ(ours.connection->abilities().direct, is_fabric);
    EXPECT_FALSE(theirs.connection->abilities().direct);
    if (is_fabric)
        return;
    EXPECT_EQ(ours.connection->write(0, Buffer(8)), PostResult::ended);
    EXPECT_EQ(ours.connection->read(0, {}), PostResult::ended);
    EXPECT_FALSE(ours.connection->ended());
}

class FabricContract : public ::testing::Test {
protected:
    void read_behind() {
        ASSERT_EQ(pair.ours.connection->read(0, {}), PostResult::yes);
        EXPECT_TRUE(pair.until([&] { return pair.ours.connection->open_reads() == 0; }));
    }
    void expect_broken_rules() {
        EXPECT_TRUE(pair.until([&] { return pair.theirs.connection->ended(); }));
        EXPECT_EQ(pair.theirs.connection->failure().fault, Fault::broke_protocol);
        EXPECT_TRUE(pair.theirs.taker.headers.empty());
    }
    FabricPair pair;
};

TEST_F(FabricContract, AReadBehindWritesShowsThatTheyAreThere) {
    std::iota(reinterpret_cast<unsigned char*>(pair.our_pool.data()),
              reinterpret_cast<unsigned char*>(pair.our_pool.data()) + pool_size, 1);
    constexpr std::size_t piece = pool_size / 4;
    for (std::size_t offset = 0; offset < pool_size; offset += piece)
        ASSERT_EQ(
            pair.ours.connection->write(offset, std::span(pair.our_pool).subspan(offset, piece)),
            PostResult::yes);
    read_behind();
    EXPECT_EQ(pair.our_pool, pair.their_pool);
}

TEST_F(FabricContract, AWriteIsThereBeforeTheFrameBehindIt) {
    for (int round = 1; round < 20; ++round) {
        std::fill(pair.our_pool.begin(), pair.our_pool.end(), static_cast<std::byte>(round));
        ASSERT_EQ(pair.ours.connection->write(0, pair.our_pool), PostResult::yes);
        ASSERT_EQ(pair.ours.connection->post(
                      {.type = FrameType::persist, .number = static_cast<std::uint64_t>(round)}, {},
                      More::none),
                  PostResult::yes);
        EXPECT_TRUE(
            pair.until([&] { return pair.theirs.taker.headers.size() == std::size_t(round); }));
        ASSERT_EQ(pair.their_pool.back(), static_cast<std::byte>(round));
        ASSERT_EQ(pair.their_pool.front(), static_cast<std::byte>(round));
        read_behind();
    }
}

TEST_F(FabricContract, TheQueueIsBounded) {
    std::size_t posted = 0;
    while (posted < 100 && pair.ours.connection->write(0, pair.our_pool) == PostResult::yes)
        ++posted;
    EXPECT_EQ(posted, frames);
    EXPECT_EQ(pair.ours.connection->read(0, {}), PostResult::full);
    EXPECT_FALSE(pair.ours.connection->ended());
}

// The event queue reports an end that leaves no entry in the completion queue. Earlier frames are
// delivered first.
TEST_F(FabricContract, ALossIsToldBehindWhatCame) {
    ASSERT_EQ(pair.ours.connection->post(small_write, Buffer(8), More::none), PostResult::yes);
    EXPECT_TRUE(pair.until([&] {
        if (pair.theirs.taker.headers.size() == 1) {
            pair.state->advance(FabricPhase::lost);
            EXPECT_TRUE(pair.theirs.connection->fd() < 0);
        }
        return pair.theirs.connection->ended();
    }));
    EXPECT_EQ(pair.theirs.taker.headers.size(), 1U);
    EXPECT_EQ(pair.theirs.connection->failure().fault, Fault::lost);
    EXPECT_EQ(pair.state->phase(), FabricPhase::ended);
}

TEST_F(FabricContract, AMessageThatIsNoFrameBreaksTheRules) {
    auto& mine = static_cast<FabricConnection&>(*pair.ours.connection);
    ASSERT_TRUE(mine.say(bytes_of("too short to be one")));
    expect_broken_rules();
}

TEST_F(FabricContract, APayloadOfAnotherSizeThanAnnouncedBreaksTheRules) {
    ASSERT_EQ(pair.ours.connection->post({.type = FrameType::write, .length = 9, .number = 1},
                                         Buffer(8), More::none),
              PostResult::yes);
    expect_broken_rules();
}

} // namespace
} // namespace rpmem::transport::contract
