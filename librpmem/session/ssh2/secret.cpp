// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/secret.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rpmem::initiator::ssh2 {
namespace {

// Each block begins with its size. The memory for libssh2 follows.
constexpr std::size_t header_bytes = alignof(std::max_align_t);

std::size_t size_of(const std::byte* block) {
    std::size_t size = 0;
    std::memcpy(&size, block, sizeof(size));
    return size;
}

} // namespace

void* wiping_alloc(std::size_t size, void**) {
    if (size > SIZE_MAX - header_bytes)
        return nullptr;
    auto* const block = static_cast<std::byte*>(std::malloc(header_bytes + size));
    if (!block)
        return nullptr;
    std::memcpy(block, &size, sizeof(size));
    return block + header_bytes;
}

void wiping_free(void* memory, void**) {
    if (!memory)
        return;
    std::byte* const block = static_cast<std::byte*>(memory) - header_bytes;
    ::OPENSSL_cleanse(memory, size_of(block));
    std::free(block);
}

void* wiping_realloc(void* memory, std::size_t size, void** context) {
    void* const moved = wiping_alloc(size, context);
    if (!moved || !memory)
        return moved;
    std::memcpy(moved, memory,
                std::min(size, size_of(static_cast<std::byte*>(memory) - header_bytes)));
    wiping_free(memory, context);
    return moved;
}

} // namespace rpmem::initiator::ssh2
