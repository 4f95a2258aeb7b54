// SPDX-License-Identifier: BSD-3-Clause
// The functions of libcrypto that authenticate lanes. They use a library context of their own, so
// the application's configuration of OpenSSL and its error queue neither affect them nor are
// changed by them. Thread-safe.
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

struct ossl_lib_ctx_st; // OSSL_LIB_CTX

namespace rpmem::transport {

inline constexpr std::size_t digest_size = 32; // SHA-256
using Digest = std::array<std::byte, digest_size>;
using ByteView = std::span<const std::byte>;

// Returns the library context of this process, created at its first use. Returns null if there is
// no memory for it; the next call tries again.
[[nodiscard]] ossl_lib_ctx_st* library_context() noexcept;

// These return false only if libcrypto has no memory. They process PARTS as one concatenated
// message.
[[nodiscard]] bool sha256(std::initializer_list<ByteView> parts, Digest& digest) noexcept;
[[nodiscard]] bool hmac_sha256(ByteView key, std::initializer_list<ByteView> parts,
                               Digest& mac) noexcept;
// HKDF of RFC 5869 with an empty salt.
[[nodiscard]] bool hkdf_sha256(ByteView secret, std::string_view info,
                               std::span<std::byte> key) noexcept;

// Compares in constant time, so that the duration reveals nothing to somebody who guesses a MAC.
[[nodiscard]] bool same_bytes(const Digest& one, const Digest& other) noexcept;

[[nodiscard]] inline ByteView bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// A source of secrets and nonces. Tests and the simulator use deterministic ones.
class Random {
public:
    virtual ~Random() = default;
    [[nodiscard]] virtual Result<> fill(std::span<std::byte> bytes) = 0;
};

// The random numbers of the kernel, read by getrandom(2). It needs no library, descriptor or seed,
// and a child of fork(2) does not repeat the numbers of its parent.
class SystemRandom final : public Random {
public:
    [[nodiscard]] Result<> fill(std::span<std::byte> bytes) override;
};

} // namespace rpmem::transport
