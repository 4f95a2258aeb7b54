// SPDX-License-Identifier: BSD-3-Clause
// Attempts to break out of a confined session. confined_daemon.cpp makes them.
// hostile_arguments.cpp defines those that use the arguments of system calls.
#pragma once

#include <span>
#include <string>

namespace rpmem::test {

// An attempt, which may use the file PATH. try_it() returns 0 on success, else an errno value.
struct Way {
    const char* name;
    int (*try_it)(const char* path);
};

[[nodiscard]] std::span<const Way> hostile_arguments();

// Descriptors that the daemon has opened before it is confined. Call own_descriptors() before that.
struct OwnDescriptors {
    int datagrams;           // an unconnected Unix socket
    int appended;            // a log that was opened with O_APPEND
    std::string socket_path; // a datagram socket that the user may write to
};
[[nodiscard]] const OwnDescriptors& own_descriptors();

} // namespace rpmem::test
