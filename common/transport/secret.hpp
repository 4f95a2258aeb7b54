// 32 bytes that nobody else may see.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/random.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace rpmem::transport {

inline constexpr std::size_t secret_size = 32; // 256 bits

// Has a page of its own, which is kept out of core dumps, and is wiped before it goes. It moves and
// is never copied.
class Secret {
public:
    // Zeros, to be filled in place.
    [[nodiscard]] static Result<Secret> make();
    [[nodiscard]] static Result<Secret> copy_of(std::span<const std::byte, secret_size> bytes);
    [[nodiscard]] static Result<Secret> random(Random& source);

    ~Secret();
    Secret(Secret&& from) noexcept : page_(std::exchange(from.page_, nullptr)) {}
    Secret& operator=(Secret&& from) noexcept {
        std::swap(page_, from.page_);
        return *this;
    }

    // Not of one that was moved from.
    [[nodiscard]] std::span<const std::byte, secret_size> bytes() const {
        return std::span<const std::byte, secret_size>(page_, secret_size);
    }
    [[nodiscard]] std::span<std::byte, secret_size> bytes() {
        return std::span<std::byte, secret_size>(page_, secret_size);
    }

private:
    explicit Secret(std::byte* page) : page_(page) {}

    std::byte* page_;
};

} // namespace rpmem::transport
