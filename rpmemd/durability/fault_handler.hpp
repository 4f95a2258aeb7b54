// SPDX-License-Identifier: BSD-3-Clause
// Handles faults in the memory of the pool: a file was truncated, a disk is full, or a block is
// bad. The kernel sends SIGBUS or SIGSEGV to the thread that accesses the memory. The pool cannot
// be used any more, and no destructor may mark it as closed. So the handler reports the cause and
// ends the process.
#pragma once

#include "common/base/unique_fd.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rpmem::target {

struct PartInMemory {
    std::string path;
    const std::byte* begin;
    std::size_t size;
    std::uint64_t offset; // offset of BEGIN in the file
    int fd = -1;
};

// The probable cause of a fault, derived from the size and the holes of the file.
enum class FaultCause { truncated, no_space, bad_block };
inline constexpr std::array<FaultCause, 3> all_fault_causes{
    FaultCause::truncated, FaultCause::no_space, FaultCause::bad_block};
[[nodiscard]] const char* describe(FaultCause cause);
[[nodiscard]] int errno_of(FaultCause cause);

// Where a fault is reported. The handler cannot open files, so all descriptors are open already.
struct FaultChannels {
    int error = -1;         // gets the error text
    int output = -1;        // gets the message for the peer
    UniqueFd log;           // gets the error text, too, after LOG_PREFIX
    std::string log_prefix; // if empty, the line begins like those of a log file
    // Returns the message for the peer, into which the handler writes the offset. Null for no
    // message.
    std::function<std::vector<std::byte>(const PartInMemory& part, FaultCause cause)> message{};
    std::size_t place_of_offset = 0; // position of the offset in the message: 8 bytes, big-endian
};

// While this object exists, a fault in PARTS ends the process with exit status 1. Any other fault
// has the default action. Only one such object may exist at a time.
class FaultGuard {
public:
    FaultGuard(std::vector<PartInMemory> parts, FaultChannels channels);
    ~FaultGuard();
    FaultGuard(const FaultGuard&) = delete;
    FaultGuard& operator=(const FaultGuard&) = delete;

private:
    struct Record;
    struct Records;
    static void handle(int number, void* information, void* context);
    [[noreturn]] static void end_process(const Records& records, const Record& record,
                                         std::uint64_t offset);

    std::unique_ptr<Records> records_;
};

} // namespace rpmem::target
