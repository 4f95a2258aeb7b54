// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/mappings.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>

namespace rpmem::initiator {
namespace {

bool parse(const std::string& line, Mapping& mapping) {
    char permissions[5] = {};
    std::uint64_t inode = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
                    &mapping.begin, &mapping.end, permissions, &mapping.file_offset, &mapping.major,
                    &mapping.minor, &inode, &path_at) != 7)
        return false;
    mapping.is_readable = permissions[0] == 'r';
    mapping.is_shared = permissions[3] == 's';
    mapping.inode = inode;
    mapping.path = path_at > 0 ? line.substr(static_cast<std::size_t>(path_at)) : std::string();
    return true;
}

} // namespace

Result<std::vector<Mapping>> mappings_of(std::span<const std::byte> memory) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    std::ifstream maps("/proc/self/maps");
    std::vector<Mapping> found;
    Mapping mapping;
    for (std::string line; std::getline(maps, line);) {
        if (!parse(line, mapping))
            return fail(ErrorClass::resource_limit, EIO,
                        "/proc/self/maps has a line that is not one of proc_pid_maps(5)");
        if (mapping.begin < end && begin < mapping.end)
            found.push_back(mapping);
    }
    if (!maps.eof())
        return fail(ErrorClass::resource_limit, ENOENT, "/proc/self/maps cannot be read");
    return found;
}

} // namespace rpmem::initiator
