// SPDX-License-Identifier: BSD-3-Clause
// A copy that cannot tear an aligned 8-byte word which another thread is storing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rpmem::initiator {

// memcpy(3) and send(2) do not guarantee the width of their loads. So the replica could receive
// half of a word, which an eviction from the cache of the processor never writes. SOURCE is
// aligned to words. The bytes after its last whole word are loaded one by one.
inline void load_words(std::byte* destination, std::span<std::byte> source) {
    constexpr std::size_t word_size = sizeof(std::uint64_t);
    std::size_t done = 0;
    for (; done + word_size <= source.size(); done += word_size) {
        const std::uint64_t word =
            std::atomic_ref(*reinterpret_cast<std::uint64_t*>(source.data() + done))
                .load(std::memory_order_relaxed);
        std::memcpy(destination + done, &word, word_size);
    }
    for (; done < source.size(); ++done)
        destination[done] = source[done];
}

} // namespace rpmem::initiator
