// SPDX-License-Identifier: BSD-3-Clause
// Tests TlsStream against a peer that uses OpenSSL directly, with other settings than the product.
// The test fails if a peer with another PSK, identity, certificate, cipher suite, group or version
// of TLS is accepted, if a regular peer of another implementation is refused, if keys are not
// changed in time, or if messages without data are processed without a limit.
#include "common/transport/openssl.hpp"
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace rpmem::transport::tls_ends {
namespace {

struct PeerSettings {
    bool is_server = false;
    int version = TLS1_3_VERSION;
    const char* suite = "TLS_AES_128_GCM_SHA256";
    std::array<unsigned char, 2> suite_number{0x13, 0x01};
    const char* groups = "X25519:P-256";
    std::string identity = "rpmem 1"; // if empty, the peer has no PSK
    bool has_certificate = false;
    int psk = 1; // first byte of the PSK
};

using Context = std::unique_ptr<SSL_CTX, FreedBy<&::SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, FreedBy<&::SSL_SESSION_free>>;
using Connected = std::unique_ptr<SSL, FreedBy<&::SSL_free>>;
using Key = std::unique_ptr<EVP_PKEY, FreedBy<&::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreedBy<&::X509_free>>;

class OtherPeer {
public:
    OtherPeer(const PeerSettings& settings, UniqueFd socket)
        : settings_(settings), socket_(std::move(socket)),
          context_(
              ::SSL_CTX_new(settings.is_server ? ::TLS_server_method() : ::TLS_client_method())) {
        static_cast<void>(::fcntl(socket_.get(), F_SETFL, O_NONBLOCK));
        SSL_CTX* const context = context_.get();
        SSL_CTX_set_max_proto_version(context, settings.version);
        ::SSL_CTX_set_ciphersuites(context, settings.suite);
        SSL_CTX_set1_groups_list(context, settings.groups);
        ::SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
        SSL_CTX_set_app_data(context, this);
        if (!settings.identity.empty() && settings.is_server)
            ::SSL_CTX_set_psk_find_session_callback(context, find);
        else if (!settings.identity.empty())
            ::SSL_CTX_set_psk_use_session_callback(context, use);
        if (settings.has_certificate)
            certify();
        ssl_.reset(::SSL_new(context));
        ::SSL_set_fd(ssl_.get(), socket_.get());
        ::SSL_set_msg_callback(ssl_.get(), note_message);
        SSL_set_msg_callback_arg(ssl_.get(), this);
        if (settings.is_server)
            ::SSL_set_accept_state(ssl_.get());
        else
            ::SSL_set_connect_state(ssl_.get());
    }
    bool exchange_hello() {
        const ErrorMark mark;
        return ::SSL_do_handshake(ssl_.get()) == 1;
    }
    bool send(const Buffer& bytes) {
        return ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
    }
    Buffer receive() {
        Buffer bytes(20000);
        const int got = ::SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }
    void update_key(int kind) {
        EXPECT_EQ(::SSL_key_update(ssl_.get(), kind), 1);
        EXPECT_TRUE(exchange_hello());
    }
    [[nodiscard]] Exporter exporter() const {
        constexpr std::string_view label = "EXPORTER-rpmem-lane-1";
        Exporter bytes;
        EXPECT_EQ(
            ::SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                         bytes.size(), label.data(), label.size(), nullptr, 0, 0),
            1);
        return bytes;
    }
    [[nodiscard]] int key_updates() const { return key_updates_; }

private:
    Session session(SSL* ssl) const {
        Session made(::SSL_SESSION_new());
        const auto key = samples::count_up<32>(settings_.psk);
        ::SSL_SESSION_set1_master_key(
            made.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
        ::SSL_SESSION_set_cipher(made.get(), ::SSL_CIPHER_find(ssl, settings_.suite_number.data()));
        ::SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION);
        return made;
    }
    static OtherPeer& self(SSL* ssl) {
        return *static_cast<OtherPeer*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
    }
    static int use(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                   SSL_SESSION** session) {
        const std::string& text = self(ssl).settings_.identity;
        *identity = reinterpret_cast<const unsigned char*>(text.data());
        *size = text.size();
        *session = self(ssl).session(ssl).release();
        return 1;
    }
    static int find(SSL* ssl, const unsigned char* identity, std::size_t size,
                    SSL_SESSION** session) {
        const std::string text(reinterpret_cast<const char*>(identity), size);
        *session =
            text == self(ssl).settings_.identity ? self(ssl).session(ssl).release() : nullptr;
        return 1;
    }
    static void note_message(int is_ours, int, int type, const void* bytes, std::size_t, SSL*,
                             void* peer) {
        if (is_ours == 0 && type == SSL3_RT_HANDSHAKE &&
            *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE)
            ++static_cast<OtherPeer*>(peer)->key_updates_;
    }
    void certify() {
        const Key key(EVP_EC_gen("P-256"));
        const Certificate certificate(::X509_new());
        ::X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
        ::X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
        ::X509_set_pubkey(certificate.get(), key.get());
        EXPECT_GT(::X509_sign(certificate.get(), key.get(), ::EVP_sha256()), 0);
        EXPECT_EQ(::SSL_CTX_use_certificate(context_.get(), certificate.get()), 1);
        EXPECT_EQ(::SSL_CTX_use_PrivateKey(context_.get(), key.get()), 1);
    }

    PeerSettings settings_;
    UniqueFd socket_;
    Context context_;
    Connected ssl_;
    int key_updates_ = 0;
};

// A TlsStream, and a peer that uses OpenSSL directly.
class TlsPeerTest : public ::testing::Test {
protected:
    void meet(const PeerSettings& settings, std::uint64_t records = max_records_of_a_key) {
        auto pair = test::value_of(make_socket_pair());
        peer = std::make_unique<OtherPeer>(settings, std::move(pair.theirs));
        ours = tls_on(settings.is_server ? TlsRole::initiator : TlsRole::target, psk(),
                      std::make_unique<SocketStream>(std::move(pair.ours)), records);
        peer_is_done = false;
        step = TlsStep::wants_read;
        for (int i = 0; i < 100 && step != TlsStep::failed; ++i) {
            peer_is_done = peer->exchange_hello();
            step = ours->advance();
        }
    }
    void expect_refused(std::string_view why) {
        EXPECT_EQ(step, TlsStep::failed);
        EXPECT_EQ(ours->error().code, EPROTO);
        EXPECT_TRUE(test::contains(ours->error().text, why));
        EXPECT_FALSE(peer->exchange_hello());
    }
    // The peer sends SIZE bytes, which must arrive.
    void expect_received(std::size_t size) {
        EXPECT_TRUE(peer->send(counted(size)));
        received.clear();
        EXPECT_EQ(receive_all(*ours, received), EAGAIN);
        EXPECT_EQ(received, counted(size));
    }
    std::unique_ptr<OtherPeer> peer;
    std::unique_ptr<TlsStream> ours;
    TlsStep step = TlsStep::failed;
    bool peer_is_done = false;
    Buffer received;
};

TEST_F(TlsPeerTest, OneThatHasAllOfItIsLetIn) {
    for (const bool is_server : {false, true}) {
        meet({.is_server = is_server});
        EXPECT_EQ(step, TlsStep::done) << is_server;
        EXPECT_TRUE(peer_is_done);
        expect_received(100);
        EXPECT_EQ(peer->exporter(), ours->exporter());
    }
}

// The target asks for another group by a HelloRetryRequest, which costs one more message each way.
TEST_F(TlsPeerTest, OneThatHasTheOtherGroupIsLetIn) {
    for (const bool is_server : {false, true}) {
        meet({.is_server = is_server, .groups = "P-256"});
        EXPECT_EQ(step, TlsStep::done) << is_server << ours->error().text;
    }
}

TEST_F(TlsPeerTest, OneThatLacksAnythingIsRefused) {
    const char* const no_psk = "did not offer the PSK";
    const char* const no_suite = "no shared cipher";
    const char* const certificate = "a certificate instead of the PSK";
    const std::pair<PeerSettings, const char*> cases[] = {
        {{.groups = "P-384"}, ""},
        {{.identity = ""}, no_psk},
        {{.is_server = true, .identity = ""}, "the peer ended it, with the alert"},
        {{.identity = "rpmem 2"}, no_psk},
        {{.identity = "rpmem 1 "}, no_psk},
        {{.identity = "rpmem "}, no_psk},
        {{.identity = "x"}, no_psk},
        {{.psk = 2}, "PSK was not accepted"},
        {{.is_server = true, .psk = 2}, "did not accept the PSK"},
        {{.is_server = true, .identity = "", .has_certificate = true}, certificate},
        {{.is_server = true, .identity = "other", .has_certificate = true}, certificate},
        {{.identity = "", .has_certificate = true}, no_psk},
        {{.suite = "TLS_AES_256_GCM_SHA384", .suite_number = {0x13, 0x02}}, no_suite},
        {{.suite = "TLS_CHACHA20_POLY1305_SHA256", .suite_number = {0x13, 0x03}}, no_suite},
        {{.version = TLS1_2_VERSION, .identity = ""}, "unsupported protocol"},
        {{.is_server = true, .version = TLS1_2_VERSION, .identity = "", .has_certificate = true},
         ""}};
    for (const auto& [settings, why] : cases) {
        SCOPED_TRACE(settings.identity + ", " + why);
        meet(settings);
        expect_refused(why);
    }
    // This end may only see that the peer has disconnected.
    meet({.is_server = true, .suite = "TLS_AES_256_GCM_SHA384", .suite_number = {0x13, 0x02}});
    EXPECT_EQ(step, TlsStep::failed);
}

TEST_F(TlsPeerTest, KeysAreChangedInTime) {
    meet({.is_server = true}, 3);
    ASSERT_EQ(step, TlsStep::done);
    for (int i = 1; i <= 10; ++i) {
        const Buffer bytes = counted(static_cast<std::size_t>(i) * 100);
        ASSERT_EQ(send_one(*ours, bytes), ssize_t(bytes.size()));
        EXPECT_EQ(peer->receive(), bytes);
        EXPECT_EQ(peer->key_updates(), (i - 1) / 3) << i;
    }
}

// A peer may change its keys, and ask for ours to be changed.
TEST_F(TlsPeerTest, KeysAreChangedWhenThePeerAsksForIt) {
    meet({});
    ASSERT_EQ(step, TlsStep::done);
    for (int i = 0; i < 40; ++i) {
        peer->update_key(SSL_KEY_UPDATE_REQUESTED);
        expect_received(10);
        EXPECT_EQ(send_one(*ours, received), 10);
        EXPECT_EQ(peer->receive(), counted(10));
        EXPECT_EQ(peer->key_updates(), i + 1);
    }
}

TEST_F(TlsPeerTest, MessagesWithoutDataHaveAnEnd) {
    meet({});
    ASSERT_EQ(step, TlsStep::done);
    EXPECT_TRUE(peer->send(counted(10)));
    int code = EAGAIN;
    int sent = 0;
    while (sent < 100 && code == EAGAIN) {
        peer->update_key(SSL_KEY_UPDATE_NOT_REQUESTED);
        ++sent;
        code = receive_all(*ours, received);
    }
    EXPECT_EQ(code, EPROTO);
    EXPECT_EQ(sent, 33);
    EXPECT_EQ(ours->reason(), "the peer sent more than 32 messages of TLS without data");
}

// The messages arrive in one piece.
TEST_F(TlsPeerTest, ManyMessagesAtOnceHaveAnEnd) {
    meet({});
    ASSERT_EQ(step, TlsStep::done);
    for (int i = 0; i < 33; ++i)
        peer->update_key(SSL_KEY_UPDATE_NOT_REQUESTED);
    EXPECT_TRUE(peer->send(counted(10)));
    EXPECT_EQ(receive_all(*ours, received), EPROTO);
    EXPECT_TRUE(received.empty());
}

} // namespace
} // namespace rpmem::transport::tls_ends
