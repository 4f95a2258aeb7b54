// SPDX-License-Identifier: BSD-3-Clause
// Standard output and the signals of writes, for our programs. The library does not change signal
// dispositions, see common/base/held_signals.hpp.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

namespace rpmem {

// Ignores SIGPIPE and SIGXFSZ, so that a write without a reader, or beyond the file size limit
// (ulimit -f), fails with an error. signal(2) fails only for an invalid signal number.
inline void ignore_signals_of_writes() {
    for (const int signal : {SIGPIPE, SIGXFSZ})
        static_cast<void>(::signal(signal, SIG_IGN));
}

// Flushes standard output. If that fails, for example on a full disk, prints the error and returns
// false.
inline bool finish_output(std::string_view program) {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return true;
    fmt::print(stderr, "{}: cannot write to standard output: {}\n", program,
               std::error_code(errno, std::generic_category()).message());
    return false;
}

// Returns the text of EXCEPTION. If output larger than the buffer of stdout cannot be written,
// fmt::print() throws an exception that names no file. Its text is then replaced by one that names
// standard output.
inline std::string text_of(const std::exception& exception) {
    const auto* const error = dynamic_cast<const std::system_error*>(&exception);
    if (!error || std::ferror(stdout) == 0)
        return exception.what();
    return "cannot write to standard output: " + error->code().message();
}

} // namespace rpmem
