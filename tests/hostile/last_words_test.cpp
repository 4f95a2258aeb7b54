// SPDX-License-Identifier: BSD-3-Clause
// Tests what the real daemon sends over lanes on tcp before it ends them or refuses them. Plain
// sockets read the error frames and refusals. The test fails if a lane ends without the reason, if
// the reason names another cause or has another code, if a lane gets an error after CLOSE, or if a
// refusal ends the session.
#include "common/base/deadline.hpp"
#include "tests/hostile/raw_lane.hpp"

#include <sys/resource.h>

namespace rpmem::hostile {
namespace {

using wire::ErrorKind;
using wire::FrameType;
using Stage = RawLane::Stage;

struct Words {
    ErrorKind kind{};
    std::uint32_t code = 0;
    std::string text;
};

// Returns the contents of the next frame, which must be an error.
Words words_of(RawLane& lane) {
    const wire::Bytes bytes = lane.receive(wire::frame_header_size);
    if (bytes.size() < wire::frame_header_size)
        throw std::runtime_error("the lane ended without a word");
    const auto header =
        wire::decode_frame_header(std::span(bytes).first<wire::frame_header_size>());
    if (!header || header->type != FrameType::error)
        throw std::runtime_error("what came is no error");
    const wire::Bytes text = lane.receive(header->length);
    return {.kind = static_cast<ErrorKind>(header->offset >> 32),
            .code = static_cast<std::uint32_t>(header->offset),
            .text = std::string(reinterpret_cast<const char*>(text.data()), text.size())};
}

transport::Refused refused_by(const wire::Bytes& message) {
    if (message.size() != transport::second_message_size ||
        !transport::may_be(transport::refusal_magic, message))
        throw std::runtime_error("what came is no refusal");
    return {.why = static_cast<transport::RefusalCode>(message[transport::magic_size]),
            .number = 0,
            .by_peer = true};
}

class LastWords : public LaneSession {
protected:
    using LaneSession::LaneSession;

    void expect_ending(RawLane& lane, const std::string& why) {
        const Words words = words_of(lane);
        EXPECT_EQ(words.kind, ErrorKind::ending);
        EXPECT_EQ(words.code, static_cast<std::uint32_t>(ECONNRESET));
        EXPECT_TRUE(test::contains(words.text, why));
        EXPECT_EQ(lane.receive_frame()->type, FrameType::bye);
        EXPECT_TRUE(lane.is_ended());
    }
};

TEST_F(LastWords, ASignalIsToldToEachLaneAndToTheClient) {
    auto used = lane(0);
    auto idle = lane(1);
    ASSERT_TRUE(used.persist(4096, 64, std::byte{1}));
    daemon_.signal(SIGTERM);
    for (RawLane* const each : {&used, &idle})
        expect_ending(*each, "SIGTERM, from process " + std::to_string(::getpid()));
    expect_end("ended by a signal, SIGTERM");
}

TEST_F(LastWords, TheEndOfTheChannelIsTold) {
    auto peer = lane(0);
    daemon_.close_input();
    expect_ending(peer, "the channel was closed without CLOSE");
    EXPECT_EQ(daemon_.wait().status, 1);
}

// The lane that violated the protocol gets that as its error, the others get the end of the
// session.
TEST_F(LastWords, OtherLanesHearOfTheOneThatEndedTheSession) {
    auto honest = lane(0);
    auto bad = lane(1);
    ASSERT_TRUE(bad.send_frame({.type = FrameType{200}, .length = 16}));
    EXPECT_EQ(words_of(bad).kind, ErrorKind::protocol);
    expect_ending(honest, "lane 1");
    expect_end("lane 1");
}

TEST_F(LastWords, AnOrderlyEndHasNone) {
    auto peer = lane(0);
    expect_close();
    EXPECT_FALSE(peer.receive_frame());
}

TEST_F(LastWords, WhoIsProvingItselfIsRefused) {
    auto open = lane(0);
    RawLane proving(port(), proof_, 1, Stage::second);
    daemon_.signal(SIGTERM);
    EXPECT_EQ(refused_by(proving.receive(transport::second_message_size)).why,
              transport::RefusalCode::ending);
    EXPECT_TRUE(proving.is_ended());
    expect_end("SIGTERM");
}

TEST_F(LastWords, AGenerationThatWasNotAnnouncedIsRefused) {
    RawLane later(port(), proof_, 0, Stage::connected);
    transport::SystemRandom random;
    transport::InitiatorProof proof(proof_, {.lane = 0, .generation = 1}, false);
    ASSERT_TRUE(later.send(proof.start(random).send));
    EXPECT_EQ(refused_by(later.receive(transport::second_message_size)).why,
              transport::RefusalCode::generation);
    EXPECT_TRUE(lane(0).persist(4096, 64, std::byte{1}));
    expect_close();
}

TEST_F(LastWords, ALaneHasOneConnection) {
    auto first = lane(0);
    RawLane second(port(), proof_, 0, Stage::third);
    EXPECT_EQ(refused_by(second.receive(transport::second_message_size)).why,
              transport::RefusalCode::lane_in_use);
    EXPECT_TRUE(first.persist(4096, 64, std::byte{1}));
    expect_close();
}

// With more than `few` lanes a worker uses epoll(7), which needs a descriptor.
class ManyLanes : public LastWords {
protected:
    static constexpr unsigned few = 4;
    ManyLanes() : LastWords({}, (few + 1) * std::thread::hardware_concurrency()) {}

    // Returns the lowest free descriptor of the daemon.
    [[nodiscard]] rlim_t free_descriptor() const {
        const std::filesystem::path all = fmt::format("/proc/{}/fd", daemon_.pid());
        rlim_t lowest = 0;
        while (
            std::filesystem::exists(std::filesystem::symlink_status(all / std::to_string(lowest))))
            ++lowest;
        return lowest;
    }
};

TEST_F(ManyLanes, OneThatThereIsNoDescriptorForIsToldSo) {
    const unsigned workers = std::thread::hardware_concurrency();
    std::vector<RawLane> peers;
    for (unsigned i = 0; i < few; ++i) {
        peers.push_back(lane(i * workers));
        ASSERT_TRUE(peers.back().persist(4096, 64, std::byte{1}));
    }
    const rlim_t beyond = free_descriptor() + 1;
    const rlimit one_more{beyond, beyond};
    ASSERT_EQ(::prlimit(daemon_.pid(), RLIMIT_NOFILE, &one_more, nullptr), 0);
    auto last = lane(few * workers);
    const Words words = words_of(last);
    EXPECT_EQ(words.kind, ErrorKind::resources);
    EXPECT_EQ(words.code, static_cast<std::uint32_t>(EMFILE));
    EXPECT_TRUE(test::contains(words.text, "epoll"));
    EXPECT_TRUE(last.is_ended());
    for (RawLane& each : peers)
        EXPECT_TRUE(each.persist(4096, 64, std::byte{2}));
    expect_close();
}

} // namespace
} // namespace rpmem::hostile
