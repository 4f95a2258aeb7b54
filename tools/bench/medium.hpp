// A file on the medium that the target's pools are on, mapped and made durable as a daemon does it.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace rpmem::bench {

class Medium {
public:
    // Makes the file if it is missing; in any case it has SIZE bytes then.
    static Result<Medium> map(const std::string& path, std::size_t size);
    Medium(Medium&& other) noexcept
        : bytes_(std::exchange(other.bytes_, {})), is_pmem_(other.is_pmem_) {}
    Medium& operator=(Medium&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(is_pmem_, other.is_pmem_);
        return *this;
    }
    Medium(const Medium&) = delete;
    Medium& operator=(const Medium&) = delete;
    ~Medium();

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    // To the beginning of the file, durable when it returns. BYTES are not more than size().
    [[nodiscard]] Result<> write(std::span<const std::byte> bytes) const;

private:
    Medium(std::span<std::byte> bytes, bool is_pmem) : bytes_(bytes), is_pmem_(is_pmem) {}
    std::span<std::byte> bytes_;
    bool is_pmem_;
};

} // namespace rpmem::bench
