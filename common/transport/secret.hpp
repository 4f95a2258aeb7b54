// SPDX-License-Identifier: BSD-3-Clause
// Memory for keys. It is excluded from core dumps, and wiped before it is released.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace rpmem::transport {

// Returns SIZE zero bytes in pages of their own, or null if there is no memory.
void* take_secret_pages(std::size_t size) noexcept;
void wipe_secret_pages(void* pages, std::size_t size) noexcept;

inline constexpr std::size_t secret_size = 32; // 256 bits

// A key in such a page. It can be moved, but not copied.
class Secret {
public:
    // Returns zeros, which the caller overwrites.
    [[nodiscard]] static Result<Secret> make();
    [[nodiscard]] static Result<Secret> copy_of(std::span<const std::byte, secret_size> bytes);

    // Invalid after a move.
    [[nodiscard]] std::span<const std::byte, secret_size> bytes() const {
        return std::span<const std::byte, secret_size>(page_.get(), secret_size);
    }
    [[nodiscard]] std::span<std::byte, secret_size> bytes() {
        return std::span<std::byte, secret_size>(page_.get(), secret_size);
    }

private:
    struct Wipe {
        void operator()(std::byte* page) const { wipe_secret_pages(page, secret_size); }
    };
    explicit Secret(std::byte* page) : page_(page) {}

    std::unique_ptr<std::byte, Wipe> page_;
};

} // namespace rpmem::transport
