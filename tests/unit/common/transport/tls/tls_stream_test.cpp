// SPDX-License-Identifier: BSD-3-Clause
// Tests the TLS handshake of TlsStream between two ends of the product, and with a bare socket. The
// test fails if another PSK is accepted, if a handshake can have any size, if the lane handshake
// does not fit around TLS, or if the application's OpenSSL configuration or error queue is used or
// changed.
#include "common/transport/lane_auth_ends.hpp"
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

namespace rpmem::transport::tls_ends {
namespace {

TEST(Tls, BothEndsAreDoneAndHaveTheSameExporter) {
    const Ends one = joined();
    const Ends other = joined();
    EXPECT_EQ(one.initiator->exporter(), one.target->exporter());
    EXPECT_EQ(other.initiator->exporter(), other.target->exporter());
    EXPECT_NE(one.initiator->exporter(), other.initiator->exporter());
    EXPECT_NE(one.initiator->exporter(), Exporter{});
}

TEST(Tls, AnotherPskIsRefusedAtBothEnds) {
    const Ends ends = make_ends(psk(1), psk(2));
    EXPECT_FALSE(exchange_hello(ends));
    EXPECT_EQ(ends.target->advance(), TlsStep::failed);
    EXPECT_EQ(ends.target->error().code, EPROTO);
    EXPECT_EQ(ends.target->error().text, "TLS with lane 3 of 10.0.0.2: the peer's PSK was not "
                                         "accepted: it is not that of this session");
    EXPECT_EQ(ends.initiator->advance(), TlsStep::failed);
    EXPECT_EQ(ends.initiator->error().code, EPROTO);
    // The alert is "illegal parameter" up to OpenSSL 3.1, and "decrypt error" (RFC 8446, 4.2.11)
    // later.
    EXPECT_TRUE(
        ends.initiator->error().text.starts_with("TLS with lane 3 of 10.0.0.1 port 999: the peer "
                                                 "did not accept the PSK of this session, with "
                                                 "the alert \""))
        << ends.initiator->error().text;
}

// One end, with a bare socket as its peer.
struct LoneEnd {
    explicit LoneEnd(TlsRole role, SocketPair pair = test::value_of(make_socket_pair()))
        : stream(tls_on(role, psk(), std::make_unique<SocketStream>(std::move(pair.ours)))),
          peer(std::move(pair.theirs)) {}
    TlsStream* operator->() const { return stream.get(); }
    void feed(const Buffer& bytes) const {
        ASSERT_TRUE(write_fully(peer.get(), bytes, Deadline(std::chrono::seconds(10))));
    }

    std::unique_ptr<TlsStream> stream;
    UniqueFd peer;
};

TEST(Tls, BytesOfAStrangerAreNoHandshake) {
    LoneEnd target(TlsRole::target);
    EXPECT_EQ(target->advance(), TlsStep::wants_read);
    target.feed(counted(300));
    EXPECT_EQ(target->advance(), TlsStep::failed);
    EXPECT_EQ(target->advance(), TlsStep::failed);
    EXPECT_EQ(target->error().code, EPROTO);
}

// The header of the message announces 64 KiB, which this end must not store.
TEST(Tls, AHandshakeHasAnEnd) {
    LoneEnd target(TlsRole::target);
    Buffer record(5 + 4096);
    constexpr std::array<unsigned char, 9> begin{0x16, 3, 1, 0x10, 0, 1, 1, 0, 0};
    std::ranges::transform(begin, record.begin(), [](auto byte) { return std::byte{byte}; });
    TlsStep step = TlsStep::wants_read;
    for (int i = 0; i < 5 && step == TlsStep::wants_read; ++i) {
        target.feed(record);
        step = target->advance();
        record[5] = std::byte{0}; // the following records continue the message
    }
    EXPECT_EQ(step, TlsStep::failed);
    EXPECT_TRUE(test::contains(target->error().text, "handshake exceeds 16384 bytes"));
}

TEST(Tls, APeerThatGoesInTheHandshakeIsLost) {
    LoneEnd initiator(TlsRole::initiator);
    EXPECT_EQ(initiator->advance(), TlsStep::wants_read);
    std::array<std::byte, 1000> hello;
    ASSERT_GT(::read(initiator.peer.get(), hello.data(), hello.size()), 0);
    initiator.peer.reset();
    EXPECT_EQ(initiator->advance(), TlsStep::failed);
    EXPECT_EQ(initiator->error().code, ECONNRESET);
    EXPECT_EQ(initiator->error().text,
              "TLS with lane 3 of 10.0.0.1 port 999: the peer ended the connection");
}

// TLS starts between the first and the second message of the lane handshake.
TEST(Tls, TheProofRunsAroundIt) {
    const ProofSession session = samples::session();
    samples::KnownRandom ours(samples::initiator_nonce);
    samples::KnownRandom theirs(samples::target_nonce);
    InitiatorProof initiator(session, samples::identity, true);
    TargetProof target(session, samples::tcp);
    const Ends ends = make_ends(session.keys.tls, session.keys.tls);

    // The first message and the ClientHello arrive together.
    Buffer sent = samples::copied(initiator.start(ours).send);
    EXPECT_EQ(ends.initiator->start(), TlsStep::wants_read);
    Buffer hello(1000);
    const ssize_t size = ::read(ends.target->fd(), hello.data(), hello.size());
    ASSERT_GT(size, 0);
    sent.insert(sent.end(), hello.begin(), hello.begin() + size);
    const ProofStep known = target.advance(sent);
    ASSERT_EQ(known.state, ProofState::known);
    ASSERT_TRUE(ends.target->give(ByteView(sent).subspan(known.taken)));
    EXPECT_EQ(ends.target->advance(), TlsStep::wants_read);

    // The answer is not a refusal, so it is left to TLS.
    Buffer answer(2000);
    const ssize_t answered = ::read(ends.initiator->fd(), answer.data(), answer.size());
    ASSERT_GT(answered, 0);
    answer.resize(static_cast<std::size_t>(answered));
    const ProofStep looked = initiator.advance(answer);
    EXPECT_EQ(looked.state, ProofState::securing);
    ASSERT_TRUE(ends.initiator->give(ByteView(answer).subspan(looked.taken)));
    EXPECT_EQ(ends.initiator->advance(), TlsStep::done);
    EXPECT_EQ(ends.target->advance(), TlsStep::done);

    static_cast<void>(initiator.secured(ends.initiator->exporter()));
    const Buffer second =
        carry(*ends.target, *ends.initiator, target.accept(theirs, ends.target->exporter()).send);
    const Buffer third = carry(*ends.initiator, *ends.target, initiator.advance(second).send);
    EXPECT_EQ(target.advance(third).state, ProofState::proven);
}

TEST(Tls, ItTakesNoMoreThanItHasRoomFor) {
    const Ends ends = make_ends(psk(), psk());
    EXPECT_FALSE(ends.target->give(Buffer(std::size_t{1} << 20)));
}

// Errors in the application's queue must stay there, and must not be mistaken for errors of TLS.
TEST(Tls, LeavesTheErrorsOfTheApplication) {
    ERR_clear_error();
    ERR_raise_data(ERR_LIB_USER, 17, "of the application");
    ERR_raise(ERR_LIB_SYS, 18);
    const Ends ends = joined();
    EXPECT_EQ(carry(*ends.initiator, *ends.target, counted(100)), counted(100));
    EXPECT_FALSE(exchange_hello(make_ends(psk(1), psk(2))));
    const char* file = nullptr;
    const char* data = nullptr;
    EXPECT_EQ(ERR_GET_REASON(ERR_get_error_all(&file, nullptr, nullptr, &data, nullptr)), 17);
    EXPECT_STREQ(file, __FILE__);
    EXPECT_STREQ(data, "of the application");
    EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), 18);
    EXPECT_EQ(ERR_get_error(), 0U);
}

// OpenSSL reads its configuration once. Therefore this test is only effective in a process of its
// own, in which ctest(1) runs it.
TEST(Tls, DependsOnNoConfigurationOfOpenSsl) {
    const auto file = std::filesystem::temp_directory_path() /
                      ("rpmem_tls_test." + std::to_string(::getpid()) + ".cnf");
    std::ofstream(file) << "openssl_conf = all\n[all]\nssl_conf = ssl\n"
                           "[ssl]\nsystem_default = default\n"
                           "[default]\nMaxProtocol = TLSv1.2\nGroups = P-384\n"
                           "Ciphersuites = TLS_CHACHA20_POLY1305_SHA256\n"
                           "CipherString = DEFAULT@SECLEVEL=5\nRecordPadding = 4096\n";
    ASSERT_EQ(::setenv("OPENSSL_CONF", file.c_str(), 1), 0);
    EVP_set_default_properties(nullptr, "provider=none_such");
    const Ends ends = joined();
    EXPECT_EQ(send_one(*ends.initiator, counted(100)), 100);
    Buffer record(1000);
    EXPECT_EQ(::read(ends.target->fd(), record.data(), record.size()),
              ssize_t(100 + record_overhead))
        << "nothing is padded";
    EVP_set_default_properties(nullptr, "");
    std::filesystem::remove(file);
}

} // namespace
} // namespace rpmem::transport::tls_ends
