// SPDX-License-Identifier: BSD-3-Clause
// Functions for the programs that run in virtual machines.
#pragma once

#include <fcntl.h>
#include <librpmem.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::vm {

[[noreturn]] inline void die(const std::string& what, const char* why) {
    std::fprintf(stderr, "%s: %s: %s\n", ::program_invocation_short_name, what.c_str(), why);
    std::exit(1);
}

inline std::byte* local_memory(std::size_t size, int filled_with = 0) {
    auto* const local = static_cast<std::byte*>(std::aligned_alloc(4096, size));
    std::memset(local, filled_with, size);
    return local;
}

inline unsigned number(const char* text) {
    return static_cast<unsigned>(std::strtoul(text, nullptr, 0));
}

} // namespace rpmem::vm
