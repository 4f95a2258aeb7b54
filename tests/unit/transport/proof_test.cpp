#include "common/transport/proof.hpp"
#include "tests/unit/transport/samples.hpp"

#include <gtest/gtest.h>

#include <cerrno>

// The linker puts this one in the place of libcrypto's (see CMakeLists.txt), which it calls.
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

Refused because(Refusal why, std::uint32_t number = 0) { return {.why = why, .number = number}; }

TEST(Proof, KeysAndTranscriptAreGolden) {
    const ProofSession session = samples::session();
    auto keys = copied(session.keys.lane.bytes());
    // Kept for lanes that are taken up again; nothing uses it yet.
    Digest takeover;
    ASSERT_TRUE(hkdf_sha256(samples::count_up<32>(0), "rpmem takeover 1", takeover));
    for (const Bytes next :
         {Bytes(session.keys.tls.bytes()), Bytes(takeover), Bytes(session.keys.id)})
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
    EXPECT_EQ(copied(make_refusal(Refusal::no_such_lane, 0x01020304)), golden("refusal"));
    const auto facts = check_second(samples::session(), samples::facts(), golden("refusal"));
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error(),
              (Refused{.why = Refusal::no_such_lane, .number = 0x01020304, .by_peer = true}));
    // Later versions may have more to say behind the number.
    auto longer = golden("refusal");
    longer.back() = std::byte{1};
    EXPECT_EQ(check_second(samples::session(), samples::facts(), longer).error().why,
              Refusal::no_such_lane);
}

TEST(Proof, EachFlippedBitOfTheFirstMessageIsRefused) {
    const ProofSession session = samples::session();
    for (std::size_t bit = 0; bit < first_message_size * 8; ++bit) {
        auto message = golden("first");
        message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const auto facts = check_first(session, tcp, message);
        ASSERT_FALSE(facts) << bit;
        EXPECT_EQ(facts.error(), bit < 64    ? because(Refusal::another_format, 1)
                                 : bit < 128 ? because(Refusal::no_such_session)
                                             : because(Refusal::proof_wrong))
            << bit;
    }
}

TEST(Proof, EachFlippedBitOfTheSecondAndThirdMessageIsRefused) {
    const ProofSession session = samples::session();
    const ProofFacts facts = samples::facts();
    for (std::size_t bit = 0; bit < second_message_size * 8; ++bit) {
        auto message = golden("second");
        message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const auto known = check_second(session, facts, message);
        ASSERT_FALSE(known) << bit;
        EXPECT_EQ(known.error(), because(bit < 64 ? Refusal::another_format : Refusal::proof_wrong))
            << bit;
    }
    for (std::size_t bit = 0; bit < third_message_size * 8; ++bit) {
        auto message = golden("third");
        message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        const auto right = check_third(session, facts, message);
        ASSERT_FALSE(right) << bit;
        EXPECT_EQ(right.error(), because(Refusal::proof_wrong)) << bit;
    }
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

// What the second and the third message are bound to: each of these is another connection's.
TEST(Proof, BindsAllFacts) {
    const ProofSession session = samples::session();
    std::vector<ProofFacts> others(6, samples::facts());
    ++others[0].identity.lane;
    ++others[1].identity.generation;
    others[2].identity.transport = wire::Provider::verbs;
    others[3].initiator[31] ^= std::byte{1};
    others[4].exporter[0] ^= std::byte{1};
    others[5].target[0] ^= std::byte{1}; // it is in the second message, and so differs in the third
    for (std::size_t i = 0; i < others.size(); ++i) {
        const auto known = check_second(session, others[i], golden("second"));
        EXPECT_EQ(!!known, i == 5) << i;
        if (!known) {
            EXPECT_EQ(known.error(), because(Refusal::proof_wrong)) << i;
        }
        const auto right = check_third(session, others[i], golden("third"));
        ASSERT_FALSE(right) << i;
        EXPECT_EQ(right.error(), because(Refusal::proof_wrong)) << i;
    }
}

TEST(Proof, WhoHasAgreedOnSomethingElseIsRefused) {
    const ProofSession stripped = samples::session(0, "the request, with a capability less");
    EXPECT_EQ(check_first(stripped, tcp, golden("first")).error(), because(Refusal::proof_wrong));
    EXPECT_EQ(check_second(stripped, samples::facts(), golden("second")).error(),
              because(Refusal::proof_wrong));
    EXPECT_EQ(check_third(stripped, samples::facts(), golden("third")).error(),
              because(Refusal::proof_wrong));
}

TEST(Proof, WhoHasAnotherSecretIsOfAnotherSession) {
    ProofSession other = samples::session(1);
    EXPECT_EQ(check_first(other, tcp, golden("first")).error(), because(Refusal::no_such_session));
    // Nor does the public id help.
    other.keys.id = samples::session().keys.id;
    EXPECT_EQ(check_first(other, tcp, golden("first")).error(), because(Refusal::proof_wrong));
}

TEST(Proof, LanesBeyondTheSessionsAreRefused) {
    ProofSession session = samples::session();
    session.lanes = samples::identity.lane;
    EXPECT_EQ(check_first(session, tcp, golden("first")).error(),
              because(Refusal::no_such_lane, samples::identity.lane));
}

// The zero field is within the MAC: who sets it is a later version, not a stranger.
TEST(Proof, AFieldThatIsNotZeroIsAnotherFormat) {
    const ProofSession session = samples::session();
    auto message = golden("first");
    message[20] = std::byte{1};
    Digest mac;
    ASSERT_TRUE(
        hmac_sha256(session.keys.lane.bytes(),
                    {bytes_of({"first\0", 6}), session.transcript, Bytes(message).first(64)}, mac));
    std::ranges::copy(mac, message.begin() + 64);
    EXPECT_EQ(check_first(session, tcp, message).error(), because(Refusal::another_format, 1));
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

} // namespace
} // namespace rpmem::transport
