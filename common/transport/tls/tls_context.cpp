// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tls/tls_context.hpp"

#include "common/transport/crypto.hpp"
#include "common/transport/openssl.hpp"

#include <openssl/ssl.h>

#include <cerrno>
#include <string_view>

namespace rpmem::transport {
namespace {

constexpr std::string_view psk_identity = "rpmem 1";
constexpr char suite_name[] = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char suite_number[] = {0x13, 0x01};
constexpr char groups[] = "X25519:P-256";
constexpr int security_level = 2;         // at least 112 bits; the groups and the suite have 128
constexpr long max_certificate_bytes = 1; // no peer sends a certificate

using PskSession = std::unique_ptr<SSL_SESSION, FreedBy<&::SSL_SESSION_free>>;

// OpenSSL expects a PSK in the form of a session that is resumed. It wipes the key when it frees
// the session.
PskSession psk_session(SSL* ssl) {
    const auto* const psk =
        static_cast<const Secret*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(ssl)));
    PskSession session(::SSL_SESSION_new());
    const SSL_CIPHER* const suite = ::SSL_CIPHER_find(ssl, suite_number);
    const auto* const key = reinterpret_cast<const unsigned char*>(psk->bytes().data());
    if (!session || !suite ||
        ::SSL_SESSION_set1_master_key(session.get(), key, psk->bytes().size()) != 1 ||
        ::SSL_SESSION_set_cipher(session.get(), suite) != 1 ||
        ::SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1)
        return nullptr;
    return session;
}

int use_psk(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
            SSL_SESSION** session) {
    PskSession made = psk_session(ssl);
    if (!made)
        return 0;
    *identity = reinterpret_cast<const unsigned char*>(psk_identity.data());
    *size = psk_identity.size();
    *session = made.release();
    return 1;
}

int find_psk(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
    *session = nullptr; // TLS then continues without a PSK, and fails for lack of a certificate
    if (std::string_view(reinterpret_cast<const char*>(identity), size) != psk_identity)
        return 1;
    PskSession made = psk_session(ssl);
    if (!made)
        return 0;
    *session = made.release();
    return 1;
}

// Rejects every certificate of a target, because it would replace the PSK.
int refuse_certificate(int, X509_STORE_CTX*) { return 0; }

// Sets every property, because openssl.cnf(5) may have changed the defaults for all programs.
bool set_up(SSL_CTX* context, TlsRole role, const Secret& psk) {
    ::SSL_CTX_clear_options(context, ::SSL_CTX_get_options(context));
    ::SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    ::SSL_CTX_set_security_level(context, security_level);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(context, max_certificate_bytes);
    SSL_CTX_set_app_data(context, const_cast<Secret*>(&psk)); // only read
    bool well = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                ::SSL_CTX_set_ciphersuites(context, suite_name) == 1 &&
                SSL_CTX_set1_groups_list(context, groups) == 1 &&
                SSL_CTX_set_max_send_fragment(context, SSL3_RT_MAX_PLAIN_LENGTH) == 1 &&
                ::SSL_CTX_set_block_padding(context, 0) == 1 &&
                ::SSL_CTX_set_num_tickets(context, 0) == 1 &&
                ::SSL_CTX_set_max_early_data(context, 0) == 1 &&
                ::SSL_CTX_set_recv_max_early_data(context, 0) == 1;
    if (role == TlsRole::initiator) {
        ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, refuse_certificate);
        ::SSL_CTX_set_psk_use_session_callback(context, use_psk);
    } else {
        ::SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
        ::SSL_CTX_set_psk_find_session_callback(context, find_psk);
    }
    return well;
}

// Returns whether a target sends ALERT if it has another PSK, or found none.
bool is_about_psk(unsigned char alert) {
    return alert == SSL_AD_ILLEGAL_PARAMETER || alert == SSL_AD_HANDSHAKE_FAILURE ||
           alert == SSL_AD_DECRYPT_ERROR || alert == SSL_AD_UNKNOWN_PSK_IDENTITY;
}

} // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { ::SSL_CTX_free(context); }

Result<TlsContext> TlsContext::make(TlsRole role, const Secret& psk) {
    const ErrorQueue queue;
    OSSL_LIB_CTX* const library = library_context();
    // A null library context would select the default one, which belongs to the application.
    TlsContext made(role, library
                              ? ::SSL_CTX_new_ex(library, nullptr,
                                                 role == TlsRole::initiator ? ::TLS_client_method()
                                                                            : ::TLS_server_method())
                              : nullptr);
    if (made.context_ && set_up(made.get(), role, psk))
        return made;
    const char* const reason = ::ERR_reason_error_string(::ERR_peek_last_error());
    return fail(ErrorClass::resource_limit, ENOMEM, "cannot prepare TLS: {}",
                reason ? reason : "OpenSSL has no memory");
}

std::string why_tls_failed(std::optional<unsigned char> alert, bool in_handshake) {
    if (alert)
        return fmt::format("{}, with the alert \"{}\"",
                           in_handshake && is_about_psk(*alert)
                               ? "the peer did not accept the PSK of this session"
                               : "the peer ended it",
                           ::SSL_alert_desc_string_long(*alert));
    // The first error is the cause. OpenSSL 3.2 and later add what it led to ("record layer
    // failure").
    const unsigned long code = ::ERR_peek_error();
    switch (ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
        return "the peer's PSK was not accepted: it is not that of this session";
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        return "the peer did not offer the PSK of this session";
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_EXCESSIVE_MESSAGE_SIZE:
        return "the peer has a certificate instead of the PSK of this session";
    default:
        const char* const text = ::ERR_reason_error_string(code);
        return text ? text : "OpenSSL gave no reason";
    }
}

} // namespace rpmem::transport
