// SPDX-License-Identifier: BSD-3-Clause
// A second mapping of the files behind the pool's memory, for the thread that catches up. It stays
// when the program unmaps its own: libpmemobj does that before rpmem_close(), and anything may be
// mapped there afterwards.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace rpmem::initiator {

class SecondMapping {
public:
    SecondMapping() = default;
    // Owns MEMORY, which was mapped.
    explicit SecondMapping(std::span<std::byte> memory) : memory_(memory) {}
    ~SecondMapping();
    SecondMapping(SecondMapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    SecondMapping& operator=(SecondMapping&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }

    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }

private:
    std::span<std::byte> memory_;
};

// MEMORY must be mapped shared and without holes, and no call may change its mappings meanwhile.
// Fails with the errno value of mremap(2). A child of fork(2) does not get the second mapping.
[[nodiscard]] Result<SecondMapping> map_again(std::span<std::byte> memory);

} // namespace rpmem::initiator
