// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/private_key.hpp"

#include "librpmem/session/ssh2/known_hosts.hpp"
#include "librpmem/session/ssh2/secret.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

// PARAMETERS are a copy of the numbers of a private key.
void wipe_parameters(OSSL_PARAM* parameters) {
    for (OSSL_PARAM* one = parameters; one->key; ++one)
        if (one->data)
            ::OPENSSL_cleanse(one->data, one->data_size);
    ::OSSL_PARAM_free(parameters);
}
// Numbers are wiped, because they may be secret.
using BigNumber = std::unique_ptr<BIGNUM, FreedBy<::BN_clear_free>>;
using ParameterBuilder = std::unique_ptr<OSSL_PARAM_BLD, FreedBy<::OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreedBy<wipe_parameters>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreedBy<::EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreedBy<::EVP_MD_CTX_free>>;
using MemoryFile = std::unique_ptr<BIO, FreedBy<::BIO_free>>;

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

BigNumber take_number(wire::ByteReader& reader) {
    const SecretBytes bytes = take_string<SecretBytes>(reader).value_or(SecretBytes());
    return BigNumber(::BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                 static_cast<int>(bytes.size()), nullptr));
}

void put_number(wire::ByteWriter& writer, const BIGNUM* number) {
    // A leading zero byte keeps the number positive, see "mpint" in RFC 4251.
    const auto size = static_cast<std::size_t>(BN_num_bytes(number));
    const bool needs_zero = ::BN_num_bits(number) % 8 == 0;
    Bytes bytes(size + (needs_zero ? 1 : 0));
    ::BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()) + (needs_zero ? 1 : 0));
    put_string(writer, bytes);
}

EVP_PKEY* make_key(const BIGNUM* n, const BIGNUM* e, const BIGNUM* d) {
    const ParameterBuilder builder(::OSSL_PARAM_BLD_new());
    const KeyContext context(::EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    if (!builder || !context ||
        !::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n) ||
        !::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e) ||
        !::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_D, d))
        return nullptr;
    const Parameters parameters(::OSSL_PARAM_BLD_to_param(builder.get()));
    EVP_PKEY* key = nullptr;
    if (!parameters || ::EVP_PKEY_fromdata_init(context.get()) <= 0 ||
        ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) <= 0)
        return nullptr;
    return key;
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
    SecretBytes secret;
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
    auto secret = take_string<SecretBytes>(file);
    if (!cipher || !derivation || !options || keys != 1 || !public_key || !secret)
        return invalid("its content is damaged");
    return OpensshKey{std::move(*cipher), std::move(*public_key), std::move(*secret)};
}

// Returns null for a key of another type.
Result<EVP_PKEY*> read_openssh(std::string_view content) {
    RPMEM_ASSIGN(const auto parsed, parse_openssh(content));
    if (text_of(parsed.cipher) != "none")
        return passphrase_needed();
    const std::string type = type_of(parsed.public_key);
    if (type == "ssh-dss")
        return signs_with_sha1();
    if (type != "ssh-rsa")
        return nullptr;
    wire::ByteReader reader(parsed.secret);
    static_cast<void>(reader.big_endian<std::uint64_t>()); // verifies a passphrase
    static_cast<void>(take_string(reader));                // the type again
    const BigNumber n = take_number(reader);
    const BigNumber e = take_number(reader);
    const BigNumber d = take_number(reader);
    EVP_PKEY* const key = n && e && d ? make_key(n.get(), e.get(), d.get()) : nullptr;
    if (!key)
        return invalid("its numbers make no RSA key");
    return key;
}

// Called instead of a prompt at the terminal. Sets the bool at USER_DATA, because the key has a
// passphrase.
int no_passphrase(char*, int, int, void* user_data) {
    *static_cast<bool*>(user_data) = true;
    return -1;
}

Result<EVP_PKEY*> read_pem(std::string_view content) {
    const MemoryFile file(::BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
    bool is_protected = false;
    EVP_PKEY* const key =
        ::PEM_read_bio_PrivateKey(file.get(), nullptr, no_passphrase, &is_protected);
    ::ERR_clear_error();
    if (!key)
        return is_protected ? passphrase_needed() : invalid("it is not a private key");
    const int type = ::EVP_PKEY_get_base_id(key);
    if (type == EVP_PKEY_RSA)
        return key;
    ::EVP_PKEY_free(key);
    if (type == EVP_PKEY_DSA)
        return signs_with_sha1();
    return nullptr;
}

} // namespace

Result<std::unique_ptr<RsaKey>> read_rsa_key(std::string_view content) {
    RPMEM_ASSIGN(const auto key,
                 content.starts_with(openssh_begin) ? read_openssh(content) : read_pem(content));
    return std::unique_ptr<RsaKey>(key ? new RsaKey(key) : nullptr);
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

Bytes RsaKey::public_key() const {
    wire::ByteWriter writer(1024);
    put_string(writer, "ssh-rsa");
    for (const char* name : {OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_N}) {
        BIGNUM* raw = nullptr;
        ::EVP_PKEY_get_bn_param(key_.get(), name, &raw);
        const BigNumber number(raw ? raw : ::BN_new());
        put_number(writer, number.get());
    }
    return writer.take();
}

Result<Bytes> RsaKey::sign(std::span<const std::byte> data, const std::string& algorithm) const {
    const EVP_MD* const digest = algorithm == "rsa-sha2-512"   ? ::EVP_sha512()
                                 : algorithm == "rsa-sha2-256" ? ::EVP_sha256()
                                                               : nullptr;
    if (!digest)
        return fail(ErrorClass::target_refused, EACCES,
                    "the server accepts only {} (SHA-1) signatures for this key; they are disabled",
                    algorithm);
    const DigestContext context(::EVP_MD_CTX_new());
    const auto* const bytes = reinterpret_cast<const unsigned char*>(data.data());
    std::size_t size = 0;
    Bytes signature;
    bool good = context &&
                ::EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get()) == 1 &&
                ::EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size()) == 1;
    if (good) {
        signature.resize(size);
        good = ::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                &size, bytes, data.size()) == 1;
        signature.resize(size);
    }
    ::ERR_clear_error();
    if (!good)
        return invalid("it cannot sign with {}", algorithm);
    return signature;
}

} // namespace rpmem::initiator::ssh2
