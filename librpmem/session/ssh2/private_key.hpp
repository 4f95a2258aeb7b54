// SPDX-License-Identifier: BSD-3-Clause
// Private key files; see ssh-keygen(1) and, for what it writes, PROTOCOL.key of OpenSSH.
#pragma once

#include "common/base/freed_by.hpp"
#include "common/base/result.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace rpmem::initiator::ssh2 {

// An RSA key. The other kinds are left to libssh2.
class RsaKey {
public:
    [[nodiscard]] Bytes public_key() const;
    // ALGORITHM: "rsa-sha2-512" or "rsa-sha2-256"; EACCES for "ssh-rsa", which is SHA-1.
    [[nodiscard]] Result<Bytes> sign(std::span<const std::byte> data,
                                     const std::string& algorithm) const;

private:
    friend Result<std::unique_ptr<RsaKey>> read_rsa_key(std::string_view);
    explicit RsaKey(EVP_PKEY* key) : key_(key) {}
    std::unique_ptr<EVP_PKEY, FreedBy<::EVP_PKEY_free>> key_;
};

// The content of a key file. Null: it is of another kind than RSA. EACCES: it is protected by a
// passphrase, and nobody is there to be asked. EINVAL: it is no private key.
Result<std::unique_ptr<RsaKey>> read_rsa_key(std::string_view content);

// The public key in a file that ssh-keygen has written, as a line of authorized_keys; empty for
// other files. Who has it need not have libcrypto look for it among the private ones, which leaves
// copies of them in memory.
std::string public_key_line(std::string_view content);

} // namespace rpmem::initiator::ssh2
