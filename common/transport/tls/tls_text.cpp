#include "common/transport/tls/tls_text.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace rpmem::transport {
namespace {

// What a target answers whose PSK is another, or who has found none.
bool is_about_psk(unsigned char alert) {
    return alert == SSL_AD_ILLEGAL_PARAMETER || alert == SSL_AD_HANDSHAKE_FAILURE ||
           alert == SSL_AD_DECRYPT_ERROR || alert == SSL_AD_UNKNOWN_PSK_IDENTITY;
}

} // namespace

std::string text_of(const TlsFailing& failing) {
    if (failing.too_many_messages)
        return "the peer sent too many messages of TLS without data";
    if (failing.too_long)
        return "the peer's handshake has no end";
    if (failing.alert)
        return fmt::format("{}, with the alert \"{}\"",
                           failing.in_handshake && is_about_psk(*failing.alert)
                               ? "the peer did not accept the PSK of this session"
                               : "the peer ended it",
                           ::SSL_alert_desc_string_long(*failing.alert));
    const int reason = ERR_GET_LIB(failing.code) == ERR_LIB_SSL ? ERR_GET_REASON(failing.code) : 0;
    if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
        return "the peer's PSK was not accepted: it is not that of this session";
    if (reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM)
        return "the peer did not offer the PSK of this session";
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED || reason == SSL_R_EXCESSIVE_MESSAGE_SIZE)
        return "the peer has a certificate instead of the PSK of this session";
    const char* const text = ::ERR_reason_error_string(failing.code);
    return text ? text : "OpenSSL does not say why";
}

} // namespace rpmem::transport
