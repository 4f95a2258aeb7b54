// SPDX-License-Identifier: BSD-3-Clause
// The TLS context that all lanes of a session share: the settings and the pre-shared key (PSK).
#pragma once

#include "common/base/result.hpp"
#include "common/transport/secret.hpp"

#include <memory>
#include <optional>
#include <string>

struct ssl_ctx_st; // SSL_CTX

namespace rpmem::transport {

enum class TlsRole { initiator, target };

// Immutable. Several threads may create streams from it, and a stream may outlive it.
class TlsContext {
public:
    // PSK must be neither moved nor destroyed during a handshake of a stream of this context.
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

// Returns why TLS failed, without the name of the peer: from the ALERT that it sent, or from the
// oldest error in the queue of OpenSSL.
[[nodiscard]] std::string why_tls_failed(std::optional<unsigned char> alert, bool in_handshake);

} // namespace rpmem::transport
