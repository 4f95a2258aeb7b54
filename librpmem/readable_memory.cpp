// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/readable_memory.hpp"

#include "common/base/io.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace rpmem::initiator {

bool is_readable(std::span<const std::byte> memory) {
    const auto pipe = make_pipe();
    if (!pipe)
        return true;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Each byte is read back, so that the pipe is never full.
    for (std::size_t position = 0; position < memory.size();) {
        const std::byte* const byte = memory.data() + position;
        if (::write(pipe->write_end.get(), byte, 1) < 0 && errno == EFAULT)
            return false;
        std::byte taken{};
        if (::read(pipe->read_end.get(), &taken, 1) != 1)
            return true;
        position += page - reinterpret_cast<std::uintptr_t>(byte) % page;
    }
    return true;
}

} // namespace rpmem::initiator
