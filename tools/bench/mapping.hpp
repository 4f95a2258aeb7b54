// Memory of whole pages, as pools need it; or a file that is made durable as a daemon does it.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace rpmem::bench {

enum class Pages { touched, untouched };

struct Unmap {
    std::size_t size = 0;
    void operator()(std::byte* address) const;
};

class Mapping {
public:
    Mapping() = default;
    static Result<Mapping> memory(std::size_t size, Pages pages);
    // Makes the file if it is missing; in any case it has SIZE bytes then, which are zero.
    static Result<Mapping> file(const std::string& path, std::size_t size);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {bytes_.get(), bytes_.get_deleter().size};
    }
    // Cache lines are flushed, but nothing is waited for.
    void copy(std::size_t offset, std::span<const std::byte> bytes) const;
    // What was copied there is durable then.
    [[nodiscard]] Result<> drain(std::size_t offset, std::size_t size) const;

private:
    Mapping(void* address, std::size_t size, bool is_pmem)
        : bytes_(static_cast<std::byte*>(address), Unmap{size}), is_pmem_(is_pmem) {}

    std::unique_ptr<std::byte[], Unmap> bytes_;
    bool is_pmem_ = true;
};

} // namespace rpmem::bench
