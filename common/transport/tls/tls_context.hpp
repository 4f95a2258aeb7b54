// SPDX-License-Identifier: BSD-3-Clause
// The part of TLS that all lanes of a session share: the settings and the pre-shared key (PSK).
#pragma once

#include "common/base/result.hpp"
#include "common/transport/secret.hpp"

#include <memory>
#include <optional>
#include <string>

struct ssl_ctx_st; // SSL_CTX

namespace rpmem::transport {

enum class TlsRole { initiator, target };

// Nothing of it changes: streams may be made of it in several threads at once, and may live longer.
class TlsContext {
public:
    // PSK stays where it is while a stream of this context does its handshake.
    [[nodiscard]] static Result<TlsContext> make(TlsRole role, const Secret& psk);

    [[nodiscard]] TlsRole role() const { return role_; }
    [[nodiscard]] ssl_ctx_st* get() const { return context_.get(); }

private:
    struct Free {
        void operator()(ssl_ctx_st* context) const;
    };
    TlsContext(TlsRole role, ssl_ctx_st* context) : role_(role), context_(context) {}

    TlsRole role_;
    std::unique_ptr<ssl_ctx_st, Free> context_;
};

// In words, without the name of the peer: by the ALERT that it sent, or by the newest error in
// OpenSSL's queue.
[[nodiscard]] std::string why_tls_failed(std::optional<unsigned char> alert, bool in_handshake);

} // namespace rpmem::transport
