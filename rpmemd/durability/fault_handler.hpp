// SPDX-License-Identifier: BSD-3-Clause
// A fault in the memory of the pool: its file was truncated, its disk is full, or a block is bad.
// The kernel tells of it by SIGBUS or SIGSEGV in the thread that reads or writes. Nothing can be
// made good then, and no destructor may mark the pool as closed: the process says why, and ends.
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
    std::uint64_t offset; // of BEGIN in the file
    int fd = -1;          // of the file
};

// The causes of a fault, as far as the file's size and its blocks tell them.
enum class FaultCause { truncated, no_space, bad_block };
inline constexpr std::array<FaultCause, 3> all_fault_causes{
    FaultCause::truncated, FaultCause::no_space, FaultCause::bad_block};
[[nodiscard]] const char* describe(FaultCause cause);
[[nodiscard]] int errno_of(FaultCause cause);

// The files for the record of a fault. All descriptors are open before.
struct FaultChannels {
    int error = -1;  // the text
    int output = -1; // the message for the peer
    UniqueFd log;    // the text again, behind LOG_PREFIX
    std::string log_prefix;
    // Returns the message for the peer, to which the handler adds the offset; null: none.
    std::function<std::vector<std::byte>(const PartInMemory& part, FaultCause cause)> message{};
    std::size_t place_of_offset = 0; // in the message: 8 bytes, big-endian
};

// While it lives, faults in PARTS end the process in this way, with exit status 1; all others have
// the default action. There may be one at a time.
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
