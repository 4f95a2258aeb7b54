// SPDX-License-Identifier: BSD-3-Clause
// Reads private key files: PEM, and the format of ssh-keygen(1), which PROTOCOL.key of OpenSSH
// defines.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace rpmem::initiator::ssh2 {

// An RSA key. libssh2 reads the other types itself.
class RsaKey {
public:
    [[nodiscard]] Bytes public_key() const;
    // ALGORITHM is "rsa-sha2-512" or "rsa-sha2-256". Fails with EACCES for any other, such as
    // "ssh-rsa", which uses SHA-1.
    [[nodiscard]] Result<Bytes> sign(std::span<const std::byte> data,
                                     const std::string& algorithm) const;

private:
    friend Result<std::unique_ptr<RsaKey>> read_rsa_key(std::string_view);
    explicit RsaKey(EVP_PKEY* key) : key_(key) {}
    std::unique_ptr<EVP_PKEY, FreedBy<::EVP_PKEY_free>> key_;
};

// CONTENT is the content of a key file. Returns null if the key has another type. Fails with EACCES
// if it has a passphrase, which nobody can enter, or is a DSA key. Fails with EINVAL if CONTENT is
// not a private key.
Result<std::unique_ptr<RsaKey>> read_rsa_key(std::string_view content);

// Returns the public key in a file that ssh-keygen has written, as a line of authorized_keys.
// Returns an empty string for other files. Without the public key, libssh2 lets libcrypto derive it
// from the private key, which leaves copies of that in memory.
std::string public_key_line(std::string_view content);

} // namespace rpmem::initiator::ssh2
