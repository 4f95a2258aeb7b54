// What the target of a limit copies to, and makes durable as a daemon does it: a file on the medium
// of the pools, or memory.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace rpmem::bench {

class LimitPool {
public:
    // Makes the file if it is missing; in any case it has SIZE bytes then. Without a PATH it is
    // memory. All its pages are there.
    static Result<LimitPool> map(const std::string& path, std::size_t size);
    LimitPool() = default;
    LimitPool(LimitPool&& other) noexcept
        : bytes_(std::exchange(other.bytes_, {})), is_pmem_(other.is_pmem_) {}
    LimitPool& operator=(LimitPool&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(is_pmem_, other.is_pmem_);
        return *this;
    }
    LimitPool(const LimitPool&) = delete;
    LimitPool& operator=(const LimitPool&) = delete;
    ~LimitPool();

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    // Cache lines are flushed, but nothing is waited for.
    void copy(std::size_t offset, std::span<const std::byte> bytes) const;
    // What was copied there is durable then.
    [[nodiscard]] Result<> drain(std::size_t offset, std::size_t size) const;

private:
    std::span<std::byte> bytes_;
    bool is_pmem_ = true;
};

} // namespace rpmem::bench
