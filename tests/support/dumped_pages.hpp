// SPDX-License-Identifier: BSD-3-Clause
// Finds out which pages of a range a core dump of this process contains.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace rpmem::test {

// Returns a character for each page: 'd' if a core dump contains it, '-' if not, and '?' if the
// page is not mapped.
inline std::string dumped(std::span<const std::byte> memory) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::string pages(memory.size() / page, '?');
    std::ifstream smaps("/proc/self/smaps");
    std::size_t from = 0;
    std::size_t to = 0;
    for (std::string line; std::getline(smaps, line);) {
        const auto dash = line.find('-');
        if (dash != std::string::npos && dash < line.find(' ')) {
            from = std::stoull(line, nullptr, 16);
            to = std::stoull(line.substr(dash + 1), nullptr, 16);
        }
        if (line.starts_with("VmFlags:"))
            for (std::size_t i = 0; i < pages.size(); ++i) {
                const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + i * page;
                if (address >= from && address < to)
                    pages[i] = line.find(" dd") == std::string::npos ? 'd' : '-';
            }
    }
    return pages;
}

} // namespace rpmem::test
