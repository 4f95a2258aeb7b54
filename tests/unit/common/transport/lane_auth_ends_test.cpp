// SPDX-License-Identifier: BSD-3-Clause
// Tests TargetProof and InitiatorProof, the state machines of the lane handshake, against each
// other and with messages of tests/data/transport/make.py. No socket is involved. The test fails if
// replayed, reflected or foreign messages authenticate a peer, if bytes of TLS or of frames are
// consumed, or if messages that arrive in pieces are not understood.
#include "common/transport/lane_auth_ends.hpp"
#include "tests/unit/common/transport/samples.hpp"

namespace rpmem::transport {
namespace {

using samples::copied;
using samples::golden;
using samples::KnownRandom;
using samples::tcp;

constexpr std::byte welcome_type{19};

class ProofEnds : public testing::Test {
protected:
    ProofSession session_ = samples::session();
    KnownRandom initiators_{samples::initiator_nonce};
    KnownRandom targets_{samples::target_nonce};
    TargetProof target_{session_, tcp};
    InitiatorProof initiator_{session_, samples::identity, false};

    // Advances TARGET until it has sent the second message.
    void until_third(TargetProof& target) {
        ASSERT_EQ(target.advance(golden("first")).state, ProofState::known);
        ASSERT_EQ(target.accept(targets_).state, ProofState::third);
    }
    void expect_refusal(const ProofStep& step, RefusalCode why, std::uint32_t number = 0) {
        EXPECT_EQ(step.state, ProofState::refused);
        EXPECT_EQ(copied(step.send), copied(make_refusal(why, number)));
        EXPECT_EQ(target_.refused(), (Refused{.why = why, .number = number}));
    }
};

TEST_F(ProofEnds, ProveThemselvesToEachOther) {
    const auto first = copied(initiator_.start(initiators_).send);
    EXPECT_EQ(first, golden("first"));
    auto step = target_.advance(first);
    EXPECT_EQ(step.taken, first.size());
    EXPECT_EQ(step.state, ProofState::known);
    EXPECT_TRUE(step.send.empty());
    EXPECT_EQ(target_.identity(), samples::identity);
    const auto second = copied(target_.accept(targets_).send);
    EXPECT_EQ(second, golden("second"));
    step = initiator_.advance(second);
    EXPECT_EQ(step.taken, second.size());
    EXPECT_EQ(step.state, ProofState::welcome);
    const auto third = copied(step.send);
    EXPECT_EQ(third, golden("third"));
    step = target_.advance(third);
    EXPECT_EQ(step.taken, third.size());
    EXPECT_EQ(step.state, ProofState::proven);
    step = initiator_.advance(std::array{welcome_type});
    EXPECT_EQ(step.taken, 0U);
    EXPECT_EQ(step.state, ProofState::proven);
}

// Both ends consume the bytes before TLS, but not those of TLS.
TEST_F(ProofEnds, ProveThemselvesInsideOfTls) {
    InitiatorProof initiator(session_, samples::identity, true);
    auto first = copied(initiator.start(initiators_).send);
    EXPECT_EQ(initiator.state(), ProofState::securing);
    first.push_back(std::byte{22}); // the first record of TLS follows at once
    EXPECT_EQ(target_.advance(first).taken, first_message_size);
    EXPECT_EQ(target_.advance(std::array{std::byte{22}}).taken, 0U);
    EXPECT_EQ(initiator.advance(std::array{std::byte{22}}).taken, 0U);
    EXPECT_EQ(initiator.state(), ProofState::securing);

    EXPECT_EQ(initiator.secured(samples::exporter).state, ProofState::second);
    const auto second = copied(target_.accept(targets_, samples::exporter).send);
    EXPECT_EQ(second, golden("second_tls"));
    const auto third = copied(initiator.advance(second).send);
    EXPECT_EQ(third, golden("third_tls"));
    EXPECT_EQ(target_.advance(third).state, ProofState::proven);
}

TEST_F(ProofEnds, BytesThatComeOneByOneNeedMore) {
    const auto feed = [](auto& end, const std::string& name, ProofState before, ProofState after) {
        for (const std::byte& byte : golden(name)) {
            EXPECT_EQ(end.state(), before);
            EXPECT_EQ(end.advance(std::span(&byte, 1)).taken, 1U);
        }
        EXPECT_EQ(end.state(), after) << name;
    };
    feed(target_, "first", ProofState::first, ProofState::known);
    EXPECT_EQ(target_.accept(targets_).state, ProofState::third);
    feed(target_, "third", ProofState::third, ProofState::proven);
    static_cast<void>(initiator_.start(initiators_));
    feed(initiator_, "second", ProofState::second, ProofState::welcome);
    feed(initiator_, "refusal", ProofState::welcome, ProofState::refused);
    EXPECT_TRUE(initiator_.refused().by_peer);
}

TEST_F(ProofEnds, NothingIsTakenBehindAMessage) {
    auto first = golden("first");
    first.resize(first.size() + 100);
    EXPECT_EQ(target_.advance(first).taken, first_message_size);
    EXPECT_EQ(target_.advance(std::array<std::byte, 5>{}).taken, 0U);
    static_cast<void>(target_.accept(targets_));
    auto third = golden("third");
    third.resize(third.size() + 100);
    EXPECT_EQ(target_.advance(third).taken, third_message_size);
    EXPECT_EQ(target_.advance(third).taken, 0U);
    EXPECT_EQ(target_.state(), ProofState::proven);
}

TEST_F(ProofEnds, AReplayedFirstMessageGetsNoFurther) {
    KnownRandom fresh(samples::count_up<32>(0xa0));
    EXPECT_EQ(target_.advance(golden("first")).state, ProofState::known);
    EXPECT_EQ(target_.accept(fresh).state, ProofState::third);
    expect_refusal(target_.advance(golden("third")), RefusalCode::proof_wrong);
}

TEST_F(ProofEnds, AReplayedSecondMessageGetsNoThird) {
    KnownRandom fresh(samples::count_up<32>(0xa0));
    static_cast<void>(initiator_.start(fresh));
    const auto step = initiator_.advance(golden("second"));
    EXPECT_EQ(step.state, ProofState::refused);
    EXPECT_TRUE(step.send.empty());
    EXPECT_EQ(initiator_.refused(), (Refused{.why = RefusalCode::proof_wrong}));
}

TEST_F(ProofEnds, ReflectionsAreRefused) {
    // The second message has the magic of a first one, but no session id after it.
    auto reflected = golden("second");
    reflected.resize(first_message_size);
    expect_refusal(target_.advance(reflected), RefusalCode::no_such_session);
    // The first message has the magic of a second one, but another MAC.
    static_cast<void>(initiator_.start(initiators_));
    EXPECT_EQ(initiator_.advance(golden("first")).state, ProofState::refused);
    EXPECT_EQ(initiator_.refused(), (Refused{.why = RefusalCode::proof_wrong}));
}

TEST_F(ProofEnds, TheTargetsMacIsNotTheInitiators) {
    until_third(target_);
    const auto second = golden("second");
    expect_refusal(target_.advance(ByteView(second).last(digest_size)), RefusalCode::proof_wrong);
}

TEST_F(ProofEnds, AnotherLaneGenerationOrTransportIsRefused) {
    std::array<LaneIdentity, 3> others{samples::identity, samples::identity, samples::identity};
    others[0].lane = 7;
    others[1].generation = 7;
    others[2].transport = wire::Provider::verbs;
    for (const LaneIdentity& other : others) {
        InitiatorProof initiator(session_, other, false);
        static_cast<void>(initiator.start(initiators_));
        static_cast<void>(initiator.advance(golden("second")));
        EXPECT_EQ(initiator.refused(), (Refused{.why = RefusalCode::proof_wrong}));
    }
    TargetProof target(session_, wire::Provider::sockets);
    until_third(target);
    EXPECT_EQ(target.advance(golden("third")).state, ProofState::refused);
    EXPECT_EQ(target.refused(), (Refused{.why = RefusalCode::proof_wrong}));
}

// An attacker between both ends would have a TLS connection to each, with different exporters.
TEST_F(ProofEnds, AnotherTlsConnectionIsRefused) {
    static_cast<void>(target_.advance(golden("first")));
    static_cast<void>(target_.accept(targets_, samples::count_up<32>(1)));
    expect_refusal(target_.advance(golden("third_tls")), RefusalCode::proof_wrong);
}

TEST_F(ProofEnds, WhoSpeaksSomethingElseIsToldAtItsFirstByte) {
    expect_refusal(target_.advance(bytes_of("GET")), RefusalCode::another_format, 1);
    TargetProof other(session_, tcp);
    EXPECT_EQ(other.advance(bytes_of("RPMEMLN")).state, ProofState::first);
    EXPECT_EQ(other.advance(bytes_of("2")).state, ProofState::refused);
    static_cast<void>(initiator_.start(initiators_));
    EXPECT_EQ(initiator_.advance(bytes_of("RPMEM")).state, ProofState::second);
    EXPECT_EQ(initiator_.advance(bytes_of("XX")).state, ProofState::refused);
    EXPECT_EQ(initiator_.refused(), (Refused{.why = RefusalCode::another_format}));
}

TEST_F(ProofEnds, ARefusalIsUnderstoodInEachState) {
    const auto refusal = golden("refusal");
    const Refused expected{.why = RefusalCode::no_such_lane, .number = 0x01020304, .by_peer = true};
    InitiatorProof securing(session_, samples::identity, true);
    static_cast<void>(securing.start(initiators_));
    EXPECT_EQ(securing.advance(refusal).taken, refusal.size());
    EXPECT_EQ(securing.refused(), expected);
    InitiatorProof second(session_, samples::identity, false);
    static_cast<void>(second.start(initiators_));
    EXPECT_EQ(second.advance(refusal).state, ProofState::refused);
    EXPECT_EQ(second.refused(), expected);
    static_cast<void>(initiator_.start(initiators_));
    static_cast<void>(initiator_.advance(golden("second")));
    EXPECT_EQ(initiator_.advance(refusal).state, ProofState::refused);
    EXPECT_EQ(initiator_.refused(), expected);
}

TEST_F(ProofEnds, NobodyProvesItselfOutsideOfTls) {
    InitiatorProof initiator(session_, samples::identity, true);
    static_cast<void>(initiator.start(initiators_));
    EXPECT_EQ(initiator.advance(golden("second")).state, ProofState::refused);
}

TEST_F(ProofEnds, TheListenerMayRefuseInEachState) {
    expect_refusal(target_.refuse(RefusalCode::ending), RefusalCode::ending);
    TargetProof known(session_, tcp);
    static_cast<void>(known.advance(golden("first")));
    EXPECT_EQ(copied(known.refuse(RefusalCode::busy).send),
              copied(make_refusal(RefusalCode::busy, 0)));
    EXPECT_EQ(known.accept(targets_).state, ProofState::refused);
    TargetProof proven(session_, tcp);
    until_third(proven);
    EXPECT_EQ(proven.advance(golden("third")).state, ProofState::proven);
    EXPECT_EQ(proven.refuse(RefusalCode::lane_in_use).state, ProofState::refused);
}

TEST_F(ProofEnds, NoRandomNumbersMeanNoLane) {
    KnownRandom none({}, true);
    static_cast<void>(target_.advance(golden("first")));
    expect_refusal(target_.accept(none), RefusalCode::no_resources, 38);
    EXPECT_EQ(initiator_.start(none).state, ProofState::refused);
    EXPECT_EQ(initiator_.refused().why, RefusalCode::no_resources);
}

TEST_F(ProofEnds, CallsOutOfTurnChangeNothing) {
    EXPECT_EQ(target_.accept(targets_).state, ProofState::first);
    EXPECT_TRUE(target_.accept(targets_).send.empty());
    EXPECT_EQ(target_.advance({}).state, ProofState::first);
    EXPECT_EQ(initiator_.secured({}).state, ProofState::second);
    EXPECT_EQ(initiator_.advance({}).state, ProofState::second);
}

} // namespace
} // namespace rpmem::transport
