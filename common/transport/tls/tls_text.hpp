// Why TLS failed, in words.
#pragma once

#include <optional>
#include <string>

namespace rpmem::transport {

struct TlsFailing {
    std::optional<unsigned char> alert; // the peer's
    bool in_handshake = false;
    bool too_many_messages = false;
    bool too_long = false;  // the handshake
    unsigned long code = 0; // the newest in OpenSSL's queue of errors
};

// Without the name of the peer.
[[nodiscard]] std::string text_of(const TlsFailing& failing);

} // namespace rpmem::transport
