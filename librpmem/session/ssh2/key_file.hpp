// SPDX-License-Identifier: BSD-3-Clause
// Examines private key files: PEM, and the format of ssh-keygen(1), which PROTOCOL.key of OpenSSH
// defines. libssh2 reads the keys. Its errors do not say why it cannot use one.
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <string_view>

namespace rpmem::initiator::ssh2 {

enum class KeyType { rsa, other };

// CONTENT is the content of a key file. Fails with EACCES if the key has a passphrase, which nobody
// can enter, or is a DSA key. Fails with EINVAL if CONTENT is not a private key.
Result<KeyType> key_type(std::string_view content);

// Returns the public key in a file that ssh-keygen has written, as a line of authorized_keys.
// Returns an empty string for other files. Without the public key, libssh2 lets libcrypto derive it
// from the private key, which leaves copies of that in memory.
std::string public_key_line(std::string_view content);

} // namespace rpmem::initiator::ssh2
