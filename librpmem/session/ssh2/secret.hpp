// SPDX-License-Identifier: BSD-3-Clause
// Memory for private keys. It is wiped before it is released. SecretText and SecretBytes are also
// excluded from core dumps.
#pragma once

#include "common/transport/secret.hpp"
#include "librpmem/session/ssh2/strings.hpp"

#include <cstddef>
#include <new>
#include <vector>

namespace rpmem::initiator::ssh2 {

template <typename T>
struct SecretAllocator {
    using value_type = T;
    SecretAllocator() = default;
    template <typename U>
    SecretAllocator(const SecretAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        void* const pages = transport::take_secret_pages(count * sizeof(T));
        if (!pages)
            throw std::bad_alloc();
        return static_cast<T*>(pages);
    }
    void deallocate(T* pages, std::size_t count) noexcept {
        transport::wipe_secret_pages(pages, count * sizeof(T));
    }
    bool operator==(const SecretAllocator&) const = default;
};

// Not a std::string, because a short one is stored in the object itself.
using SecretText = std::vector<char, SecretAllocator<char>>;
using SecretBytes = std::vector<std::byte, SecretAllocator<std::byte>>;

inline std::string_view view_of(const SecretText& text) { return {text.data(), text.size()}; }

// The allocator for a session of libssh2. It wipes all memory, because keys are in it.
void* wiping_alloc(std::size_t size, void** context);
void wiping_free(void* memory, void** context);
void* wiping_realloc(void* memory, std::size_t size, void** context);

} // namespace rpmem::initiator::ssh2
