#include "librpmem/session/ssh2/algorithms.hpp"

#include <libssh2.h>

namespace rpmem::initiator::ssh2 {
namespace {

using namespace std::string_view_literals;

constexpr std::array key_exchanges = {
    "curve25519-sha256"sv,
    "curve25519-sha256@libssh.org"sv,
    "ecdh-sha2-nistp256"sv,
    "ecdh-sha2-nistp384"sv,
    "ecdh-sha2-nistp521"sv,
    "diffie-hellman-group-exchange-sha256"sv,
    "diffie-hellman-group16-sha512"sv,
    "diffie-hellman-group18-sha512"sv,
    "diffie-hellman-group14-sha256"sv,
};

constexpr std::array ciphers = {
    "chacha20-poly1305@openssh.com"sv,
    "aes128-ctr"sv,
    "aes192-ctr"sv,
    "aes256-ctr"sv,
    "aes128-gcm@openssh.com"sv,
    "aes256-gcm@openssh.com"sv,
};

// SHA-1 in an HMAC is no signature, and ssh(1) takes it too; it comes last.
constexpr std::array checksums = {
    "hmac-sha2-256-etm@openssh.com"sv,
    "hmac-sha2-512-etm@openssh.com"sv,
    "hmac-sha2-256"sv,
    "hmac-sha2-512"sv,
    "hmac-sha1-etm@openssh.com"sv,
    "hmac-sha1"sv,
};

constexpr std::array table = {
    Method{LIBSSH2_METHOD_KEX, "key exchange", key_exchanges},
    Method{LIBSSH2_METHOD_CRYPT_CS, "cipher", ciphers},
    Method{LIBSSH2_METHOD_CRYPT_SC, "cipher", ciphers},
    Method{LIBSSH2_METHOD_MAC_CS, "checksum", checksums},
    Method{LIBSSH2_METHOD_MAC_SC, "checksum", checksums},
};

} // namespace

std::span<const Method> methods() { return table; }

} // namespace rpmem::initiator::ssh2
