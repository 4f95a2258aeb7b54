// Memory of whole pages, as pools need it.
#pragma once

#include "common/base/result.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

namespace rpmem::bench {

enum class Pages { touched, untouched };

class Buffer {
public:
    Buffer() = default;
    static Result<Buffer> make(std::size_t size, Pages pages) {
        const int flags =
            MAP_PRIVATE | MAP_ANONYMOUS | (pages == Pages::touched ? MAP_POPULATE : 0);
        void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (address == MAP_FAILED)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot map {} bytes of memory",
                              size);
        return Buffer(std::span(static_cast<std::byte*>(address), size));
    }
    Buffer(Buffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (!bytes_.empty())
            ::munmap(bytes_.data(), bytes_.size());
    }

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

private:
    explicit Buffer(std::span<std::byte> bytes) : bytes_(bytes) {}
    std::span<std::byte> bytes_;
};

} // namespace rpmem::bench
