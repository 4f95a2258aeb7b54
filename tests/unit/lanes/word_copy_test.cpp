#include "rpmemd/durability/word_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace rpmem::target {
namespace {

TEST(WordCopy, EveryOffsetAndLength) {
    std::array<std::byte, 80> source;
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i + 1);
    for (std::size_t offset = 0; offset < 16; ++offset)
        for (std::size_t from = 0; from < 8; ++from)
            for (std::size_t length = 0; length < 40; ++length) {
                alignas(8) std::array<std::byte, 64> destination{};
                copy_words(destination.data() + offset, std::span(source).subspan(from, length));
                std::array<std::byte, 64> expected{};
                std::copy_n(source.data() + from, length, expected.data() + offset);
                ASSERT_EQ(destination, expected) << offset << ' ' << from << ' ' << length;
            }
}

// A reader that looks on while words change never sees half of one.
TEST(WordCopy, WordsChangeAsAWhole) {
    constexpr std::size_t words = 512;
    alignas(8) static std::array<std::uint64_t, words> destination{};
    std::atomic<bool> done = false;
    std::thread writer([&] {
        std::array<std::uint64_t, words> source;
        for (std::uint64_t round = 0; round < 20000; ++round) {
            source.fill((round & 0xff) * 0x0101010101010101U);
            copy_words(reinterpret_cast<std::byte*>(destination.data()),
                       std::as_bytes(std::span(source)));
        }
        done = true;
    });
    while (!done)
        for (std::uint64_t& place : destination) {
            const std::uint64_t word = std::atomic_ref(place).load(std::memory_order_relaxed);
            ASSERT_EQ(word, (word & 0xff) * 0x0101010101010101U);
        }
    writer.join();
}

} // namespace
} // namespace rpmem::target
