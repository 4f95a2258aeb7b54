// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/dump_exclusion.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace rpmem::initiator {
namespace {

// The flags of a mapping in /proc/PID/smaps, see proc_pid_smaps(5).
constexpr const char* flags_line = "VmFlags:";
constexpr const char* not_dumped = " dd";

// Returns the parts of MEMORY that a core dump would contain.
std::vector<std::span<std::byte>> dumped_parts(std::span<std::byte> memory) {
    std::vector<std::span<std::byte>> parts;
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t last = first + memory.size();
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::ifstream file("/proc/self/smaps");
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            begin = std::max(from, first);
            end = std::min(to, last);
            if (from >= last)
                break; // later mappings are beyond MEMORY
        } else if (begin < end && line.starts_with(flags_line) &&
                   line.find(not_dumped) == std::string::npos) {
            parts.push_back(memory.subspan(begin - first, end - begin));
        }
    }
    return parts;
}

} // namespace

DumpExclusion::DumpExclusion(std::span<std::byte> memory) : excluded_(dumped_parts(memory)) {
    std::erase_if(excluded_, [](std::span<std::byte> part) {
        return ::madvise(part.data(), part.size(), MADV_DONTDUMP) != 0;
    });
}

// madvise(2) fails if the application has unmapped the memory. Then there is nothing to restore.
DumpExclusion::~DumpExclusion() {
    for (const std::span<std::byte> part : excluded_)
        ::madvise(part.data(), part.size(), MADV_DODUMP);
}

} // namespace rpmem::initiator
