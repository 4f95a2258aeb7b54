// SPDX-License-Identifier: BSD-3-Clause
// A copy in which a crash cannot tear an aligned 8-byte word of the destination.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rpmem::target {

// memcpy(3) does not guarantee the width of its stores. This function writes each aligned word
// within the range by one 8-byte store, which x86-64 and AArch64 make visible, and so durable, as a
// whole. The bytes before the first and after the last whole word are written one by one.
inline void copy_words(std::byte* destination, std::span<const std::byte> data) {
    constexpr std::size_t word_size = sizeof(std::uint64_t);
    const std::byte* source = data.data();
    std::size_t left = data.size();
    while (left > 0 && reinterpret_cast<std::uintptr_t>(destination) % word_size != 0) {
        *destination++ = *source++;
        --left;
    }
    while (left >= word_size) {
        std::uint64_t word;
        std::memcpy(&word, source, word_size);
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(destination))
            .store(word, std::memory_order_relaxed);
        destination += word_size;
        source += word_size;
        left -= word_size;
    }
    while (left-- > 0)
        *destination++ = *source++;
}

} // namespace rpmem::target
