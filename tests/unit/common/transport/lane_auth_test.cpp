// SPDX-License-Identifier: BSD-3-Clause
// Tests the messages of the lane handshake and the refusals. Expected bytes come from
// tests/data/transport/make.py, and the linker replaces CRYPTO_memcmp() by a function that counts
// calls. The test fails if a byte of a message moves, if a message with a flipped bit or of other
// facts is accepted, or if a MAC is not compared in constant time.
#include "common/transport/lane_auth.hpp"
#include "common/transport/refusal.hpp"
#include "tests/unit/common/transport/samples.hpp"

#include <set>

// The linker redirects the calls of CRYPTO_memcmp() to __wrap_CRYPTO_memcmp(), see CMakeLists.txt.
extern "C" int __real_CRYPTO_memcmp(const void* one, const void* other, std::size_t size);
extern "C" int __wrap_CRYPTO_memcmp(const void* one, const void* other, std::size_t size);
static std::vector<std::size_t> compared;
extern "C" int __wrap_CRYPTO_memcmp(const void* one, const void* other, std::size_t size) {
    compared.push_back(size);
    return __real_CRYPTO_memcmp(one, other, size);
}

namespace rpmem::transport {
namespace {

using samples::copied;
using samples::golden;
using samples::tcp;

Refused because(RefusalCode why, std::uint32_t number = 0) {
    return {.why = why, .number = number};
}

TEST(Proof, KeysAndTranscriptAreGolden) {
    const ProofSession session = samples::session();
    auto keys = copied(session.keys.lane.bytes());
    for (const ByteView next : {ByteView(session.keys.tls.bytes()),
                                ByteView(session.keys.takeover.bytes()), ByteView(session.keys.id)})
        keys.insert(keys.end(), next.begin(), next.end());
    EXPECT_EQ(keys, golden("keys"));
    EXPECT_EQ(copied(session.transcript), golden("transcript"));
}

TEST(Proof, FirstMessageIsGolden) {
    const ProofSession session = samples::session();
    const auto message = make_first(session, samples::identity, samples::initiator_nonce);
    ASSERT_TRUE(message);
    EXPECT_EQ(copied(*message), golden("first"));
    const auto facts = check_first(session, tcp, golden("first"));
    ASSERT_TRUE(facts) << describe(facts.error());
    EXPECT_EQ(facts->identity, samples::identity);
    EXPECT_EQ(facts->initiator, samples::initiator_nonce);
}

TEST(Proof, SecondAndThirdMessageAreGolden) {
    const ProofSession session = samples::session();
    for (const bool tls : {false, true}) {
        const std::string suffix = tls ? "_tls" : "";
        const ProofFacts facts = samples::facts(tls ? samples::exporter : Exporter{});
        const auto second = make_second(session, facts);
        const auto third = make_third(session, facts);
        ASSERT_TRUE(second && third);
        EXPECT_EQ(copied(*second), golden("second" + suffix));
        EXPECT_EQ(copied(*third), golden("third" + suffix));

        ProofFacts before = facts;
        before.target = {};
        const auto known = check_second(session, before, golden("second" + suffix));
        ASSERT_TRUE(known) << describe(known.error());
        EXPECT_EQ(known->target, samples::target_nonce);
        EXPECT_TRUE(check_third(session, facts, golden("third" + suffix)));
    }
}

TEST(Proof, RefusalIsGolden) {
    EXPECT_EQ(copied(make_refusal(RefusalCode::no_such_lane, 0x01020304)), golden("refusal"));
    const auto facts = check_second(samples::session(), samples::facts(), golden("refusal"));
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error(),
              (Refused{.why = RefusalCode::no_such_lane, .number = 0x01020304, .by_peer = true}));
    // Later versions may use the bytes after the number.
    auto longer = golden("refusal");
    longer.back() = std::byte{1};
    EXPECT_EQ(check_second(samples::session(), samples::facts(), longer).error().why,
              RefusalCode::no_such_lane);
}

// Calls CHECK with each message that differs in one bit from the golden one NAME. REFUSAL returns
// the expected error.
void expect_refusals(const std::string& name, auto check, auto refusal) {
    const auto right = golden(name);
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
        auto message = right;
        message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const auto checked = check(message);
        ASSERT_FALSE(checked) << name << ' ' << bit;
        EXPECT_EQ(checked.error(), refusal(bit)) << name << ' ' << bit;
    }
}

TEST(Proof, EachFlippedBitIsRefused) {
    const ProofSession session = samples::session();
    const ProofFacts facts = samples::facts();
    expect_refusals(
        "first", [&](const auto& message) { return check_first(session, tcp, message); },
        [](std::size_t bit) {
            return bit < 64    ? because(RefusalCode::another_format, 1)
                   : bit < 128 ? because(RefusalCode::no_such_session)
                               : because(RefusalCode::proof_wrong);
        });
    expect_refusals(
        "second", [&](const auto& message) { return check_second(session, facts, message); },
        [](std::size_t bit) {
            return because(bit < 64 ? RefusalCode::another_format : RefusalCode::proof_wrong);
        });
    expect_refusals(
        "third", [&](const auto& message) { return check_third(session, facts, message); },
        [](std::size_t) { return because(RefusalCode::proof_wrong); });
}

TEST(Proof, AnyOtherSizeIsRefused) {
    const ProofSession session = samples::session();
    for (std::size_t size = 0; size <= 200; ++size) {
        auto first = golden("first"), second = golden("second"), third = golden("third");
        for (auto* const message : {&first, &second, &third})
            message->resize(size);
        EXPECT_EQ(!!check_first(session, tcp, first), size == first_message_size);
        EXPECT_EQ(!!check_second(session, samples::facts(), second), size == second_message_size);
        EXPECT_EQ(!!check_third(session, samples::facts(), third), size == third_message_size);
    }
}

// The second and the third message must be invalid for a connection that differs in one fact.
TEST(Proof, BindsAllFacts) {
    const ProofSession session = samples::session();
    std::vector<ProofFacts> others(6, samples::facts());
    ++others[0].identity.lane;
    ++others[1].identity.generation;
    others[2].identity.transport = wire::Provider::verbs;
    others[3].initiator[31] ^= std::byte{1};
    others[4].exporter[0] ^= std::byte{1};
    others[5].target[0] ^= std::byte{1}; // the second message contains this fact
    for (std::size_t i = 0; i < others.size(); ++i) {
        const auto known = check_second(session, others[i], golden("second"));
        EXPECT_EQ(!!known, i == 5) << i;
        if (!known) {
            EXPECT_EQ(known.error(), because(RefusalCode::proof_wrong)) << i;
        }
        const auto right = check_third(session, others[i], golden("third"));
        ASSERT_FALSE(right) << i;
        EXPECT_EQ(right.error(), because(RefusalCode::proof_wrong)) << i;
    }
}

TEST(Proof, WhoHasAgreedOnSomethingElseIsRefused) {
    const ProofSession stripped = samples::session(0, "the request, with a capability less");
    EXPECT_EQ(check_first(stripped, tcp, golden("first")).error(),
              because(RefusalCode::proof_wrong));
    EXPECT_EQ(check_second(stripped, samples::facts(), golden("second")).error(),
              because(RefusalCode::proof_wrong));
    EXPECT_EQ(check_third(stripped, samples::facts(), golden("third")).error(),
              because(RefusalCode::proof_wrong));
}

TEST(Proof, WhoHasAnotherSecretIsOfAnotherSession) {
    ProofSession other = samples::session(1);
    EXPECT_EQ(check_first(other, tcp, golden("first")).error(),
              because(RefusalCode::no_such_session));
    // The public id of the session does not help without the secret.
    other.keys.id = samples::session().keys.id;
    EXPECT_EQ(check_first(other, tcp, golden("first")).error(), because(RefusalCode::proof_wrong));
}

TEST(Proof, LanesBeyondTheSessionsAreRefused) {
    ProofSession session = samples::session();
    session.lanes = samples::identity.lane;
    EXPECT_EQ(check_first(session, tcp, golden("first")).error(),
              because(RefusalCode::no_such_lane, samples::identity.lane));
}

// The MAC covers the zero field, so only an authentic peer of a later version can set it.
TEST(Proof, AFieldThatIsNotZeroIsAnotherFormat) {
    const ProofSession session = samples::session();
    auto message = golden("first");
    message[20] = std::byte{1};
    Digest mac;
    ASSERT_TRUE(hmac_sha256(
        session.keys.lane.bytes(),
        {bytes_of({"first\0", 6}), session.transcript, ByteView(message).first(64)}, mac));
    std::ranges::copy(mac, message.begin() + 64);
    EXPECT_EQ(check_first(session, tcp, message).error(), because(RefusalCode::another_format, 1));
}

TEST(Proof, MacsAreComparedInConstantTime) {
    const ProofSession session = samples::session();
    const auto expect_one = [](const char* what) {
        EXPECT_EQ(compared, std::vector<std::size_t>{digest_size}) << what;
        compared.clear();
    };
    compared.clear();
    for (const bool wrong : {false, true}) {
        auto first = golden("first"), second = golden("second"), third = golden("third");
        if (wrong)
            for (auto* const message : {&first, &second, &third})
                (*message)[message->size() - digest_size] ^= std::byte{1};
        EXPECT_NE(!!check_first(session, tcp, first), wrong);
        expect_one("first");
        EXPECT_NE(!!check_second(session, samples::facts(), second), wrong);
        expect_one("second");
        EXPECT_NE(!!check_third(session, samples::facts(), third), wrong);
        expect_one("third");
    }
}

TEST(RefusalCode, NumbersAreThoseOfTheDocument) {
    constexpr RefusalCode in_order[] = {
        RefusalCode::busy,          RefusalCode::too_late,     RefusalCode::no_such_session,
        RefusalCode::no_such_lane,  RefusalCode::lane_in_use,  RefusalCode::generation,
        RefusalCode::proof_wrong,   RefusalCode::no_resources, RefusalCode::ending,
        RefusalCode::another_format};
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(static_cast<int>(in_order[i]), i + 1);
}

TEST(RefusalCode, EachHasItsOwnText) {
    std::set<std::string> texts;
    for (std::uint32_t why = 0; why <= 11; ++why)
        texts.insert(describe({.why = RefusalCode{why}, .number = 0, .by_peer = true}));
    EXPECT_EQ(texts.size(), 12U);
    EXPECT_EQ(describe({.why = RefusalCode::no_such_lane, .number = 8, .by_peer = true}),
              "the target refuses the lane: the session has 8 lanes, and none with this number");
    EXPECT_TRUE(test::contains(
        describe({.why = RefusalCode::no_resources, .number = ENFILE, .by_peer = true}),
        "Too many open files in system"));
    // Neither the number nor the code from the peer needs to be known.
    EXPECT_FALSE(describe({.why = RefusalCode::no_resources, .number = 0xffffffff}).empty());
    EXPECT_TRUE(
        test::contains(describe({.why = RefusalCode{0xffffffff}, .by_peer = true}), "4294967295"));
}

TEST(RefusalCode, OnlyAWrongProofIsAQuestionOfRights) {
    for (std::uint32_t why = 0; why <= 11; ++why) {
        EXPECT_EQ(errno_of(RefusalCode{why}),
                  RefusalCode{why} == RefusalCode::proof_wrong ? EACCES : ECONNREFUSED);
        EXPECT_EQ(may_pass(RefusalCode{why}), RefusalCode{why} == RefusalCode::busy ||
                                                  RefusalCode{why} == RefusalCode::too_late);
    }
}

} // namespace
} // namespace rpmem::transport
