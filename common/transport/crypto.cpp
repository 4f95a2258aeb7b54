// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/crypto.hpp"

#include "common/transport/openssl.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <cerrno>
#include <memory>
#include <new>

namespace rpmem::transport {
namespace {

using Context = std::unique_ptr<OSSL_LIB_CTX, FreedBy<&::OSSL_LIB_CTX_free>>;
using Hash = std::unique_ptr<EVP_MD, FreedBy<&::EVP_MD_free>>;
using HashRun = std::unique_ptr<EVP_MD_CTX, FreedBy<&::EVP_MD_CTX_free>>;
using Mac = std::unique_ptr<EVP_MAC, FreedBy<&::EVP_MAC_free>>;
using MacRun = std::unique_ptr<EVP_MAC_CTX, FreedBy<&::EVP_MAC_CTX_free>>;
using Kdf = std::unique_ptr<EVP_KDF, FreedBy<&::EVP_KDF_free>>;
using KdfRun = std::unique_ptr<EVP_KDF_CTX, FreedBy<&::EVP_KDF_CTX_free>>;

char hash_name[] = "SHA256"; // never written, but OSSL_PARAM has no pointer to const

// Throws if OBJECT is null. libcrypto would take a null context for its default context, which
// belongs to the application, and it does not check for null functions.
template <typename T>
T* there(T* object) {
    if (!object)
        throw std::bad_alloc();
    return object;
}

// Functions of libcrypto. They are kept because fetching one takes longer than running it.
struct Functions {
    Context context{there(::OSSL_LIB_CTX_new())};
    Hash hash{there(::EVP_MD_fetch(context.get(), hash_name, nullptr))};
    Mac mac{there(::EVP_MAC_fetch(context.get(), "HMAC", nullptr))};
    Kdf kdf{there(::EVP_KDF_fetch(context.get(), "HKDF", nullptr))};
    // A context with a hash and without a key. hmac_sha256() copies it, because setting the hash
    // would fetch it again.
    MacRun keyless{there(::EVP_MAC_CTX_new(mac.get()))};

    Functions() {
        const OSSL_PARAM with_hash[] = {
            ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash_name, 0),
            ::OSSL_PARAM_construct_end()};
        if (::EVP_MAC_CTX_set_params(keyless.get(), with_hash) != 1)
            throw std::bad_alloc();
    }
};

const Functions* functions() noexcept {
    try {
        static const Functions once;
        return &once;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

const unsigned char* read_from(ByteView bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* write_to(std::span<std::byte> bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

} // namespace

ossl_lib_ctx_st* library_context() noexcept {
    const ErrorMark mark;
    const Functions* const ours = functions();
    return ours ? ours->context.get() : nullptr;
}

bool sha256(std::initializer_list<ByteView> parts, Digest& digest) noexcept {
    const ErrorMark mark;
    const Functions* const ours = functions();
    const HashRun run(ours ? ::EVP_MD_CTX_new() : nullptr);
    bool well = run && ::EVP_DigestInit_ex2(run.get(), ours->hash.get(), nullptr) == 1;
    for (const ByteView part : parts)
        well = well && ::EVP_DigestUpdate(run.get(), part.data(), part.size()) == 1;
    return well && ::EVP_DigestFinal_ex(run.get(), write_to(digest), nullptr) == 1;
}

bool hmac_sha256(ByteView key, std::initializer_list<ByteView> parts, Digest& mac) noexcept {
    const ErrorMark mark;
    const Functions* const ours = functions();
    const MacRun run(ours ? ::EVP_MAC_CTX_dup(ours->keyless.get()) : nullptr);
    bool well = run && ::EVP_MAC_init(run.get(), read_from(key), key.size(), nullptr) == 1;
    for (const ByteView part : parts)
        well = well && ::EVP_MAC_update(run.get(), read_from(part), part.size()) == 1;
    std::size_t size = 0;
    return well && ::EVP_MAC_final(run.get(), write_to(mac), &size, mac.size()) == 1;
}

bool hkdf_sha256(ByteView secret, std::string_view info, std::span<std::byte> key) noexcept {
    const ErrorMark mark;
    const Functions* const ours = functions();
    const KdfRun run(ours ? ::EVP_KDF_CTX_new(ours->kdf.get()) : nullptr);
    // libcrypto only reads these, but OSSL_PARAM has no pointer to const.
    const OSSL_PARAM parameters[] = {
        ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash_name, 0),
        ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
                                            const_cast<std::byte*>(secret.data()), secret.size()),
        ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()),
                                            info.size()),
        ::OSSL_PARAM_construct_end()};
    return run && ::EVP_KDF_derive(run.get(), write_to(key), key.size(), parameters) == 1;
}

bool same_bytes(const Digest& one, const Digest& other) noexcept {
    return ::CRYPTO_memcmp(one.data(), other.data(), digest_size) == 0;
}

Result<> SystemRandom::fill(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const auto got = ::getrandom(bytes.data(), bytes.size(), 0);
        if (got < 0 && errno != EINTR)
            return fail_errno(ErrorClass::resource_limit, errno,
                              "cannot get {} random bytes from the kernel", bytes.size());
        if (got > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return {};
}

} // namespace rpmem::transport
