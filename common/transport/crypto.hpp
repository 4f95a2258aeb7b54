// SPDX-License-Identifier: BSD-3-Clause
// The three functions of libcrypto that lanes prove themselves with. They run in a library context
// of our own, so that neither the application's configuration of OpenSSL nor its error queue
// matters here or is changed by us. Safe to call from several threads at once.
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

struct ossl_lib_ctx_st; // OSSL_LIB_CTX

namespace rpmem::transport {

inline constexpr std::size_t digest_size = 32; // of SHA-256
using Digest = std::array<std::byte, digest_size>;
using ByteView = std::span<const std::byte>;

// Of the process, made on first use. Null: there is no memory for it; the next call tries again.
[[nodiscard]] ossl_lib_ctx_st* library_context() noexcept;

// These are false if libcrypto has no memory, and for no other reason. PARTS are taken as if they
// stood behind each other.
[[nodiscard]] bool sha256(std::initializer_list<ByteView> parts, Digest& digest) noexcept;
[[nodiscard]] bool hmac_sha256(ByteView key, std::initializer_list<ByteView> parts,
                               Digest& mac) noexcept;
// Of RFC 5869, with an empty salt.
[[nodiscard]] bool hkdf_sha256(ByteView secret, std::string_view info,
                               std::span<std::byte> key) noexcept;

// Takes as long wherever the first difference is: who guesses a MAC learns nothing from the clock.
[[nodiscard]] bool same_bytes(const Digest& one, const Digest& other) noexcept;

[[nodiscard]] inline ByteView bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

// Where secrets and nonces come from. Tests and the simulator have sources of their own, which
// repeat themselves.
class Random {
public:
    virtual ~Random() = default;
    [[nodiscard]] virtual Result<> fill(std::span<std::byte> bytes) = 0;
};

// The kernel's, by getrandom(2): it needs no library, no descriptor and no seed, and is right in a
// child of fork(2) as well.
class SystemRandom final : public Random {
public:
    [[nodiscard]] Result<> fill(std::span<std::byte> bytes) override;
};

} // namespace rpmem::transport
