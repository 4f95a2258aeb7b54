// SPDX-License-Identifier: BSD-3-Clause
// Tests that a power failure between any two instructions of a copy cannot tear a word. ptrace(2)
// steps a child through the copy, and the test examines the shared memory after each instruction.
// The test fails if an aligned word of 8 bytes is ever written in part.
#include "rpmemd/durability/streamed_copy.hpp"
#include "rpmemd/durability/word_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace rpmem::target {
namespace {

using Copy = void (*)(std::byte*, std::span<const std::byte>);

constexpr std::uint64_t before = 0;
constexpr std::uint64_t after = ~before;

// A page that is shared with child processes.
class SharedWords {
public:
    SharedWords()
        : place_(::mmap(nullptr, count * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (place_ == MAP_FAILED)
            throw std::runtime_error("no shared memory");
    }
    ~SharedWords() { ::munmap(place_, count * sizeof(std::uint64_t)); }
    SharedWords(const SharedWords&) = delete;
    SharedWords& operator=(const SharedWords&) = delete;

    [[nodiscard]] std::span<volatile std::uint64_t> words() const {
        return {static_cast<volatile std::uint64_t*>(place_), count};
    }
    [[nodiscard]] std::byte* at(std::size_t offset) const {
        return static_cast<std::byte*>(place_) + offset;
    }

private:
    static constexpr std::size_t count = 512;
    void* place_;
};

// Starts a child that stops before it copies SIZE bytes to PLACE.
pid_t start(Copy copy, std::byte* place, std::size_t size) {
    static const std::vector<std::byte> data(2048, std::byte{0xff});
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0 || ::raise(SIGSTOP) != 0)
            ::_exit(1);
        copy(place, std::span(data).subspan(1, size));
        ::_exit(0);
    }
    return child;
}

// Executes one instruction of CHILD. Returns false if it has ended.
bool step(pid_t child) {
    int status = 0;
    return ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 &&
           ::waitpid(child, &status, 0) == child && WIFSTOPPED(status);
}

// Steps through a copy of SIZE bytes to OFFSET in a cache line. Returns a word that was written in
// part at some time, or 0.
std::uint64_t torn_word(Copy copy, std::size_t offset, std::size_t size) {
    const SharedWords memory;
    const std::size_t first_whole = (offset + 7) / 8;
    const auto words = memory.words().first((offset + size) / 8).subspan(first_whole);
    copy(memory.at(2048), std::span(memory.at(0), 256)); // binds its functions before the fork
    const pid_t child = start(copy, memory.at(offset), size);
    ::waitpid(child, nullptr, 0);
    std::uint64_t torn = 0;
    while (torn == 0 && std::ranges::count(words, after) != std::ssize(words)) {
        if (!step(child))
            throw std::runtime_error("the child has not copied");
        for (const volatile std::uint64_t& word : words)
            if (word != before && word != after)
                torn = word;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return torn;
}

// There are only a few sizes and offsets, because with a sanitizer a copy has many steps.
void expect_whole_words(Copy copy, std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes)
        for (const std::size_t offset : std::to_array<std::size_t>({0, 8, 53, 56}))
            EXPECT_EQ(torn_word(copy, offset, size), 0U) << size << " bytes at " << offset;
}

TEST(SteppedCopy, WordsChangeAsAWhole) { expect_whole_words(copy_words, {24, 64}); }

TEST(SteppedCopy, StreamedWordsChangeAsAWhole) {
    expect_whole_words(stream_words, {8, 24, 128, 1024});
}

} // namespace
} // namespace rpmem::target
