// SPDX-License-Identifier: BSD-3-Clause
// The output of our own programs; a library leaves signals to the application, see
// common/base/held_signals.hpp.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace rpmem {

// Makes a reader that has gone, and a file beyond the limit (ulimit -f), errors of the call that
// writes. signal() fails only for a signal that does not exist.
inline void ignore_signals_of_writes() {
    for (const int signal : {SIGPIPE, SIGXFSZ})
        static_cast<void>(::signal(signal, SIG_IGN));
}

// Writes what standard output still has. Returns false if it cannot be written, a full disk for
// one, and prints that.
inline bool finish_output(std::string_view program) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return true;
    fmt::print(stderr, "{}: cannot write to standard output: {}\n", program,
               std::error_code(errno, std::generic_category()).message());
    return false;
}

} // namespace rpmem
