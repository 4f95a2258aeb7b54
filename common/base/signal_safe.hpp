// SPDX-License-Identifier: BSD-3-Clause
// Async-signal-safe functions: none of them allocates or locks.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

namespace rpmem::signal_safe {

// Writes TEXT to FD. Gives up when FD has had no room for TIMEOUT_MS. Does nothing if FD is -1.
inline void put(int fd, std::string_view text, int timeout_ms) {
    pollfd entry = {fd, POLLOUT, 0};
    while (!text.empty() && fd >= 0 && ::poll(&entry, 1, timeout_ms) == 1) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written <= 0)
            return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace rpmem::signal_safe
