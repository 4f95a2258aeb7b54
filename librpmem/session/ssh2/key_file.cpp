// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/key_file.hpp"

#include "common/base/freed_by.hpp"
#include "librpmem/session/ssh2/known_hosts.hpp"
#include "librpmem/session/ssh2/secret.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

using MemoryFile = std::unique_ptr<BIO, FreedBy<::BIO_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreedBy<::EVP_PKEY_free>>;

constexpr std::string_view openssh_begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_magic("openssh-key-v1\0", 15);
constexpr std::string_view openssh_end = "-----END OPENSSH PRIVATE KEY-----";

Failure passphrase_needed() {
    return fail(ErrorClass::caller_fault, EACCES,
                "it is protected by a passphrase: add it to ssh-agent with ssh-add, and do not set "
                "RPMEM_SSH_KEY");
}

Failure signs_with_sha1() {
    return fail(ErrorClass::caller_fault, EACCES,
                "it is of type ssh-dss, which signs with SHA-1, and is not used");
}

Result<SecretBytes> from_base64(std::string_view text) {
    SecretText compact;
    compact.reserve(text.size());
    std::copy_if(text.begin(), text.end(), std::back_inserter(compact),
                 [](char c) { return c != '\n' && c != '\r'; });
    SecretBytes bytes(compact.size() / 4 * 3);
    const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                       reinterpret_cast<const unsigned char*>(compact.data()),
                                       static_cast<int>(compact.size()));
    if (size < 0)
        return invalid("its base64 text is damaged");
    return bytes; // zeros from the padding may follow
}

// Decodes the lines between the first and the last one.
Result<SecretBytes> openssh_body(std::string_view content) {
    const auto end = content.find(openssh_end);
    if (end == std::string_view::npos)
        return invalid("its end is missing");
    return from_base64(content.substr(openssh_begin.size(), end - openssh_begin.size()));
}

// The fields that are used, see PROTOCOL.key of OpenSSH.
struct OpensshKey {
    Bytes cipher;
    Bytes public_key;
};

Result<OpensshKey> parse_openssh(std::string_view content) {
    RPMEM_ASSIGN(const auto bytes, openssh_body(content));
    wire::ByteReader file(bytes);
    std::array<std::byte, openssh_magic.size()> magic{};
    file.raw(magic);
    if (text_of(magic) != openssh_magic)
        return invalid("it is not a key that ssh-keygen has written");
    auto cipher = take_string(file);
    const auto derivation = take_string(file);
    const auto options = take_string(file);
    const auto keys = file.big_endian<std::uint32_t>();
    auto public_key = take_string(file);
    const auto secret = take_string<SecretBytes>(file);
    if (!cipher || !derivation || !options || keys != 1 || !public_key || !secret)
        return invalid("its content is damaged");
    return OpensshKey{std::move(*cipher), std::move(*public_key)};
}

Result<KeyType> openssh_type(std::string_view content) {
    RPMEM_ASSIGN(const auto parsed, parse_openssh(content));
    if (text_of(parsed.cipher) != "none")
        return passphrase_needed();
    const std::string type = type_of(parsed.public_key);
    if (type == "ssh-dss")
        return signs_with_sha1();
    return type == "ssh-rsa" ? KeyType::rsa : KeyType::other;
}

// Called instead of a prompt at the terminal. Sets the bool at USER_DATA, because the key has a
// passphrase.
int no_passphrase(char*, int, int, void* user_data) {
    *static_cast<bool*>(user_data) = true;
    return -1;
}

Result<KeyType> pem_type(std::string_view content) {
    const MemoryFile file(::BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
    bool is_protected = false;
    const PrivateKey key(
        ::PEM_read_bio_PrivateKey(file.get(), nullptr, no_passphrase, &is_protected));
    ::ERR_clear_error();
    if (!key)
        return is_protected ? passphrase_needed() : invalid("it is not a private key");
    const int type = ::EVP_PKEY_get_base_id(key.get());
    if (type == EVP_PKEY_DSA)
        return signs_with_sha1();
    return type == EVP_PKEY_RSA ? KeyType::rsa : KeyType::other;
}

} // namespace

Result<KeyType> key_type(std::string_view content) {
    return content.starts_with(openssh_begin) ? openssh_type(content) : pem_type(content);
}

std::string public_key_line(std::string_view content) {
    if (!content.starts_with(openssh_begin))
        return {};
    const auto parsed = parse_openssh(content);
    if (!parsed || parsed->public_key.empty())
        return {};
    const Bytes& key = parsed->public_key;
    const std::span raw(reinterpret_cast<const unsigned char*>(key.data()), key.size());
    return type_of(key) + " " + to_base64(raw);
}

} // namespace rpmem::initiator::ssh2
