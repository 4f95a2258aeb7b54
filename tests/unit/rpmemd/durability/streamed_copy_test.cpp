// SPDX-License-Identifier: BSD-3-Clause
// Tests the copies by whole words and past the caches, at every offset and length, and while a
// thread reads the destination. CMakeLists.txt repeats the tests of streamed copies with variables
// that make libpmem use other stores. The test fails if a byte is wrong or outside of the range, or
// if a reader sees a word that was written in part.
#include "rpmemd/durability/streamed_copy.hpp"
#include "rpmemd/durability/word_copy.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::target {
namespace {

using Copy = void (*)(std::byte*, std::span<const std::byte>);

void streamed(std::byte* place, std::span<const std::byte> bytes) {
    stream_words(place, bytes);
    end_streams();
}

constexpr std::size_t cache_line = 64;
constexpr std::size_t word_size = sizeof(std::uint64_t);

// Copies LENGTH bytes to every offset in a cache line, from every offset in a word. There are guard
// bytes on both sides of the destination.
void copy_everywhere(Copy copy, std::span<const std::byte> source, std::size_t length) {
    alignas(cache_line) static std::array<std::byte, 512> destination;
    static std::array<std::byte, 512> expected;
    for (std::size_t offset = cache_line; offset < 2 * cache_line; ++offset)
        for (std::size_t from = 0; from < word_size; ++from) {
            const auto data = source.subspan(from, length);
            destination.fill(std::byte{0x5a});
            copy(destination.data() + offset, data);
            expected.fill(std::byte{0x5a});
            std::copy(data.begin(), data.end(), expected.data() + offset);
            ASSERT_EQ(destination, expected) << offset << ' ' << from << ' ' << length;
        }
}

void copy_every_length(Copy copy, std::size_t longest) {
    alignas(cache_line) std::array<std::byte, 320> source;
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i % 89 + 1); // never a guard byte
    for (std::size_t length = 0; length <= longest; ++length) {
        copy_everywhere(copy, source, length);
        if (testing::Test::HasFatalFailure()) // one failure is enough
            return;
    }
}

TEST(StreamedCopy, EveryOffsetAndLength) { copy_every_length(streamed, 300); }
TEST(WordCopy, EveryOffsetAndLength) { copy_every_length(copy_words, 40); }

// Copies SIZE bytes, alternately of zeros and of ones, without a pause.
void write_rounds(Copy copy, std::byte* place, std::size_t size, unsigned rounds) {
    const std::array<std::vector<std::byte>, 2> sources{
        std::vector<std::byte>(size), std::vector<std::byte>(size, std::byte{0xff})};
    for (unsigned round = 0; round < rounds; ++round)
        copy(place, sources[round % 2]);
}

// Reads the first and the last whole word while SIZE bytes at OFFSET in a cache line are copied.
// These are at the ends, where less than a cache line is copied.
void look_on(Copy copy, std::size_t offset, std::size_t size, unsigned rounds) {
    alignas(cache_line) static std::array<std::uint64_t, 64 * 1024 / word_size + 8> memory;
    memory.fill(0);
    std::byte* const place = reinterpret_cast<std::byte*>(memory.data()) + offset;
    const std::size_t first = (offset + word_size - 1) / word_size;
    const std::size_t last = (offset + size) / word_size - 1;
    std::atomic<bool> done = false;
    std::thread writer([&] {
        write_rounds(copy, place, size, rounds);
        done = true;
    });
    std::uint64_t torn = 0;
    while (!done)
        for (const std::size_t at : {first, last}) {
            const std::uint64_t word = std::atomic_ref(memory[at]).load(std::memory_order_relaxed);
            if (word != 0 && word != ~std::uint64_t{0})
                torn = word;
        }
    writer.join();
    ASSERT_EQ(torn, 0U) << std::hex << torn;
    ASSERT_EQ(memory[first], rounds % 2 == 0 ? ~std::uint64_t{0} : 0);
    ASSERT_EQ(memory[last], memory[first]);
}

// Offsets and sizes with a word before the first whole cache line, after the last one, both,
// neither, and with bytes that are no whole word. libpmem would copy a single word with two stores.
constexpr std::pair<std::size_t, std::size_t> copied_ranges[] = {
    {0, 1024}, {56, 1032}, {0, 1032}, {56, 1040}, {8, 1024}, {24, 1064}, {3, 1029}, {53, 1035}};

TEST(StreamedCopy, WordsChangeAsAWhole) {
    for (const auto& [offset, size] : copied_ranges) {
        SCOPED_TRACE(offset);
        SCOPED_TRACE(size);
        look_on(streamed, offset, size, 200000);
    }
}

TEST(StreamedCopy, WordsOfLongOnesChangeAsAWhole) {
    for (const auto& [offset, size] : copied_ranges) {
        SCOPED_TRACE(offset);
        look_on(streamed, offset, size + std::size_t{60} * 1024, 4000);
    }
}

TEST(WordCopy, WordsChangeAsAWhole) { look_on(copy_words, 0, 4096, 20000); }

} // namespace
} // namespace rpmem::target
