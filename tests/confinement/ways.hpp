// SPDX-License-Identifier: BSD-3-Clause
// Ways out of a confined daemon.
#pragma once

#include <span>
#include <string>

namespace rpmem::test {

// PATH is a file that the way may use. try_it() returns 0 if the way is open, else the errno value
// that closed it.
struct Way {
    const char* name;
    int (*try_it)(const char* path);
};

// Ways that use a call which the filter allows, with arguments that it must not allow, and a way
// that makes all other calls. See hostile_arguments.cpp.
[[nodiscard]] std::span<const Way> hostile_arguments();

// Descriptors that the daemon has before it is confined. Call it once before.
struct OwnDescriptors {
    int datagrams;           // an unconnected Unix socket, like one of syslog
    int appended;            // a log; only open(2) can make it so
    std::string socket_path; // of a datagram socket that the user may write to
};
[[nodiscard]] const OwnDescriptors& own_descriptors();

} // namespace rpmem::test
