// SPDX-License-Identifier: BSD-3-Clause
// rpmem-bench: see rpmem-bench(1).
#include "common/base/program_output.hpp"
#include "tools/bench/away.hpp"
#include "tools/bench/cases.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <regex>
#include <string_view>

namespace rpmem::bench {
namespace {

// Executes this program again with other settings and the mark of this run in its environment,
// because the library has read its settings when it was loaded. Returns only on failure.
Result<> restart_with_mark(const Options& options, char** argv) {
    const std::string mark = std::to_string(getpid());
    const std::string before = fmt::format("env {}={} ", run_mark, mark);
    const std::string behind = fmt::format("{}{}", options.no_spin ? " --spin-time 0" : "",
                                           options.tls ? " --tls=on" : "");
    const char* const command = std::getenv("RPMEM_CMD"); // several are separated by '|'
    const std::string commands = before +
                                 std::regex_replace(command && *command ? command : "rpmemd",
                                                    std::regex("\\|"), behind + "|" + before) +
                                 behind;
    if (setenv(run_mark, mark.c_str(), 1) != 0 || setenv("RPMEM_CMD", commands.c_str(), 1) != 0 ||
        (options.no_spin && setenv("RPMEM_SPIN_TIME", "0", 1) != 0) ||
        (options.tls && setenv("RPMEM_TLS", "require", 1) != 0))
        return fail_errno(ErrorClass::resource_limit, errno, "cannot change the environment");
    ::execv(own_program, argv);
    return fail_errno(ErrorClass::bug, errno, "cannot start again with another environment");
}

Result<> run(const Options& options, char** argv) {
    const char* const mark = std::getenv(run_mark);
    if (mark == nullptr || mark != std::to_string(getpid()))
        return restart_with_mark(options, argv);
    // These processes are started first, so that they inherit nothing from the library.
    const Result<OtherProcess> limits = start_limits(options);
    if (!limits)
        fmt::print(stderr, "rpmem-bench: note: no limits of the network to {}: {}\n",
                   options.target, limits.error().text);
    return run_cases(options, limits ? limits->socket.get() : -1);
}

int start(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == answering_half) {
        serve_answers(STDIN_FILENO, STDOUT_FILENO);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && std::string_view(argv[1]) == away_half) {
        serve_away(STDIN_FILENO, STDOUT_FILENO);
        return EXIT_SUCCESS;
    }
    Options options;
    if (const std::optional<int> status = parse(argc, argv, options))
        return *status;
    if (options.show_pool_size) {
        fmt::print("{}\n", options.pool_size());
        return EXIT_SUCCESS;
    }
    if (options.table)
        return run_table(options);
    const Result<> done = run(options, argv);
    if (done)
        return EXIT_SUCCESS;
    fmt::print(stderr, "rpmem-bench: {}\n", done.error().text);
    return EXIT_FAILURE;
}

} // namespace
} // namespace rpmem::bench

int main(int argc, char** argv) try {
    rpmem::ignore_signals_of_writes();
    const int status = rpmem::bench::start(argc, argv);
    return rpmem::finish_output("rpmem-bench") || status != EXIT_SUCCESS ? status : EXIT_FAILURE;
} catch (const std::exception& error) { // such as out of memory
    (void)std::fprintf(stderr, "rpmem-bench: %s\n", rpmem::text_of(error).c_str());
    return EXIT_FAILURE;
}
