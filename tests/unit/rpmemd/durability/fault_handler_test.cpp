// SPDX-License-Identifier: BSD-3-Clause
// Tests the handler of faults in the memory of a pool. A child maps a file and accesses the mapping
// beyond the end of the file, or stores to it without permission. The test fails if the child
// survives, does not report the part, offset and cause, or handles other faults, too.
#include "common/base/io.hpp"
#include "common/base/quiet_thread.hpp"
#include "rpmemd/durability/fault_handler.hpp"
#include "tests/support/bare_end.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <regex>

namespace rpmem::target {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t mapping_size = 4 * page;

struct Death {
    int status = 0; // see waitpid(2)
    std::string error;
    std::string output;
    std::string log;
};

std::string text_in(int fd) {
    std::string text(1000, '\0');
    const ssize_t length = ::pread(fd, text.data(), text.size(), 0);
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
}

UniqueFd file_of(std::size_t bytes) {
    UniqueFd file(::memfd_create("part", MFD_CLOEXEC));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
        throw std::runtime_error("no file in memory");
    return file;
}

// Returns a message with the cause, room for the offset, and one more byte.
std::vector<std::byte> message_of(const PartInMemory&, FaultCause cause) {
    std::vector<std::byte> message(10, std::byte{'.'});
    message[0] = static_cast<std::byte>('0' + static_cast<char>(cause));
    return message;
}

// A child maps a part from offset BEGIN to beyond the end of the file, and calls FAULT with the
// memory. The file is one page shorter than mapping_size.
template <typename Fault>
Death die_of(Fault fault, const char* log_prefix = "<3>", std::size_t begin = 0) {
    const UniqueFd part = file_of(mapping_size - page);
    const UniqueFd error = file_of(0);
    const UniqueFd output = file_of(0);
    UniqueFd log = file_of(0);
    const int log_fd = log.get();
    const pid_t child = ::fork();
    if (child == 0) {
        auto* const memory =
            static_cast<std::byte*>(::mmap(nullptr, mapping_size, PROT_READ | PROT_WRITE,
                                           MAP_SHARED, part.get(), static_cast<off_t>(begin)));
        const FaultGuard guard(
            {{"/pools/part1", memory, mapping_size, begin, part.get()}},
            {error.get(), output.get(), std::move(log), log_prefix, message_of, 1});
        fault(memory);
        ::_exit(42); // there was no fault
    }
    Death death;
    ::waitpid(child, &death.status, 0);
    death.error = text_in(error.get());
    death.output = text_in(output.get());
    death.log = text_in(log_fd);
    return death;
}

void expect_record(const Death& death, const std::string& place,
                   FaultCause cause = FaultCause::truncated) {
    ASSERT_TRUE(WIFEXITED(death.status)) << death.status;
    EXPECT_EQ(WEXITSTATUS(death.status), EXIT_FAILURE);
    EXPECT_EQ(death.error.find("rpmemd: the session ends: part /pools/part1 "), 0U) << death.error;
    EXPECT_TRUE(test::contains(death.error, "at offset " + place + ":"));
    EXPECT_EQ(death.error.back(), '\n');
    EXPECT_EQ(death.log, "<3>" + death.error);
    const std::uint64_t offset = std::stoull(place);
    ASSERT_EQ(death.output.size(), 10U);
    EXPECT_EQ(death.output.front(), '0' + static_cast<char>(cause));
    for (unsigned i = 0; i < sizeof(offset); ++i)
        EXPECT_EQ(static_cast<unsigned char>(death.output[1 + i]),
                  static_cast<unsigned char>(offset >> (8 * (7 - i))));
    EXPECT_TRUE(test::contains(death.error, describe(cause)));
}

// Without a prefix, the line begins like every line of a log file.
TEST(FaultInThePool, ALineOfALogFileHasTimeProcessAndLevel) {
    const Death death =
        die_of([](volatile std::byte* memory) { memory[mapping_size - 1] = std::byte{1}; }, "");
    const std::regex line(
        "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3} \\[\\d+\\] error: (.*\n)");
    std::smatch match;
    ASSERT_TRUE(std::regex_match(death.log, match, line)) << death.log;
    EXPECT_EQ(match[1], death.error);
    const std::time_t now = std::time(nullptr);
    char today[32];
    std::tm fields{};
    std::strftime(today, sizeof(today), "%Y-%m-%d", ::localtime_r(&now, &fields));
    EXPECT_EQ(death.log.substr(0, 10), today);
}

TEST(FaultInThePool, AThreadThatReadsOrWritesItEndsTheProcess) {
    expect_record(
        die_of([](volatile std::byte* memory) { memory[mapping_size - page + 8] = std::byte{1}; }),
        "12296");
    expect_record(
        die_of([](volatile std::byte* memory) { static_cast<void>(memory[mapping_size - 1]); }),
        "16383");
    // Signals are blocked in the threads of workers.
    expect_record(
        die_of([](volatile std::byte* memory) {
            start_without_signals([=] { memory[mapping_size - page] = std::byte{1}; }).join();
        }),
        "12288");
    // A store to read-only memory raises SIGSEGV.
    expect_record(die_of([](std::byte* memory) {
                      ::mprotect(memory, page, PROT_READ);
                      *const_cast<volatile std::byte*>(memory) = std::byte{1};
                  }),
                  "0", FaultCause::no_space); // the whole file is a hole
    expect_record(die_of([](std::byte* memory) {
                      std::memset(memory, 1, mapping_size - page);
                      ::mprotect(memory, page, PROT_READ);
                      *const_cast<volatile std::byte*>(memory) = std::byte{1};
                  }),
                  "0", FaultCause::bad_block);
    expect_record(die_of([](std::byte* memory) { // the hole is elsewhere
                      std::memset(memory, 1, page);
                      ::mprotect(memory, page, PROT_READ);
                      *const_cast<volatile std::byte*>(memory) = std::byte{1};
                  }),
                  "0", FaultCause::bad_block);
    expect_record(die_of([](std::byte* memory) {
                      std::memset(memory, 1, page);
                      ::mprotect(memory, 2 * page, PROT_READ);
                      *const_cast<volatile std::byte*>(memory + page + 8) = std::byte{1};
                  }),
                  "4104", FaultCause::no_space);
}

// A part after the first is mapped from the end of its header on. The reported offset and the cause
// are those of the file.
TEST(FaultInThePool, TheOffsetIsThatInTheFile) {
    expect_record(die_of([](volatile std::byte* memory) { memory[2 * page + 8] = std::byte{1}; },
                         "<3>", page),
                  "12296");
}

// With AddressSanitizer the default action is its report.
#ifndef __SANITIZE_ADDRESS__
TEST(FaultInThePool, OtherFaultsHaveTheDefaultAction) {
    const Death elsewhere = die_of([](std::byte* memory) {
        ::mprotect(memory, page, PROT_NONE);
        void* const other = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *static_cast<volatile std::byte*>(other) = std::byte{1};
    });
    const Death sent = die_of([](std::byte*) { ::raise(SIGBUS); });
    ASSERT_TRUE(WIFSIGNALED(elsewhere.status)) << elsewhere.status;
    EXPECT_EQ(WTERMSIG(elsewhere.status), SIGSEGV);
    EXPECT_EQ(elsewhere.error, "");
    ASSERT_TRUE(WIFSIGNALED(sent.status)) << sent.status;
    EXPECT_EQ(WTERMSIG(sent.status), SIGBUS);
}
#endif

} // namespace
} // namespace rpmem::target
