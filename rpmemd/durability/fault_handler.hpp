// SPDX-License-Identifier: BSD-3-Clause
// A fault in the memory of the pool: its file was truncated, its disk is full, or a block is bad.
// The kernel tells of it by SIGBUS or SIGSEGV in the thread that reads or writes. Nothing can be
// made good then, and no destructor may mark the pool as closed: the process says why, and ends.
#pragma once

#include "common/base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rpmem::target {

struct PartInMemory {
    std::string path;
    const std::byte* begin;
    std::size_t size;
    std::uint64_t offset;                // of BEGIN in the file
    std::vector<std::byte> last_message; // for the peer; empty: none
};

// The files for the record of a fault. All descriptors are open before.
struct FaultChannels {
    int error = -1;  // the text
    int output = -1; // the part's last message
    UniqueFd log;    // the text again, behind LOG_PREFIX
    std::string log_prefix;
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
