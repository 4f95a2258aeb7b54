// rpmem-bench: see rpmem-bench(1).
#include "tools/bench/answering.hpp"
#include "tools/bench/cases.hpp"
#include "tools/bench/compare.hpp"
#include "tools/bench/daemons.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/programs.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/starting.hpp"
#include "tools/bench/table.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace rpmem::bench {
namespace {

// Settings of the library, and the options of the daemon that go with them.
constexpr const char* spin_time = "RPMEM_SPIN_TIME";
constexpr const char* daemon_spin_time = " --spin-time 0";
constexpr const char* tls = "RPMEM_TLS";
constexpr const char* daemon_tls = " --tls=on";

// Each of the commands, which '|' separates, between BEFORE and BEHIND.
std::string embrace(const std::string& before, std::string_view commands,
                    const std::string& behind) {
    std::string result = before;
    for (const char c : commands) {
        if (c == '|')
            result.append(behind).append(1, c).append(before);
        else
            result += c;
    }
    return result + behind;
}

// The library has read RPMEM_CMD when it was loaded, so this program starts itself once more, with
// its mark in the environment of the daemons. Comes back only with an error.
Result<> restart_with_mark(const Options& options, char** argv) {
    const std::string mark = std::to_string(getpid());
    const char* const command = std::getenv("RPMEM_CMD");
    const std::string commands = embrace(
        std::string("env ") + run_mark + "=" + mark + " ", command && *command ? command : "rpmemd",
        std::string(options.no_spin ? daemon_spin_time : "") + (options.tls ? daemon_tls : ""));
    if (setenv(run_mark, mark.c_str(), 1) != 0 || setenv("RPMEM_CMD", commands.c_str(), 1) != 0 ||
        (options.no_spin && setenv(spin_time, "0", 1) != 0) ||
        (options.tls && setenv(tls, "require", 1) != 0))
        return fail_errno(ErrorClass::resource_limit, errno, "cannot change the environment");
    ::execv(own_program, argv);
    return fail_errno(ErrorClass::bug, errno, "cannot start again with another environment");
}

Result<> run(const Options& options, char** argv) {
    const char* const mark = std::getenv(run_mark);
    if (mark == nullptr || mark != std::to_string(getpid()))
        return restart_with_mark(options, argv);
    // First of all, so that these processes inherit nothing.
    RPMEM_ASSIGN(const Limits limits, Limits::start(options));
    Report report(options);
    report.begin();
    RPMEM_TRY(Cases(options, limits, report).run());
    report.end();
    return {};
}

// A lane takes a descriptor, and so may a connection of the limits.
void allow_many_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

int start(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == answering_half) {
        serve_answers(STDIN_FILENO, STDOUT_FILENO);
        return EXIT_SUCCESS;
    }
    allow_many_descriptors();
    if (argc > 2 && std::string_view(argv[1]) == starting_worker)
        return run_starting_worker(argc, argv);
    const Parsed parsed = parse(argc, argv);
    if (parsed.done)
        return parsed.status;
    const Options& options = parsed.options;
    if (options.show_pool_size) {
        fmt::print("{}\n", options.pool_size());
        return EXIT_SUCCESS;
    }
    if (options.table)
        return run_table(options);
    const Result<> done = options.compared.empty()
                              ? run(options, argv)
                              : compare(options.compared[0], options.compared[1]);
    if (done)
        return EXIT_SUCCESS;
    fmt::print(stderr, "rpmem-bench: {}\n", done.error().text);
    return EXIT_FAILURE;
}

} // namespace
} // namespace rpmem::bench

int main(int argc, char** argv) {
    try {
        return rpmem::bench::start(argc, argv);
    } catch (const std::exception& error) { // out of memory, of threads
        (void)std::fprintf(stderr, "rpmem-bench: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
