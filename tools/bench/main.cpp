// rpmem-bench: see rpmem-bench(1).
#include "cases.hpp"
#include "limits.hpp"
#include "options.hpp"
#include "report.hpp"
#include "starting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace rpmem::bench {
namespace {

constexpr const char* spin_time = "RPMEM_SPIN_TIME";

// Each of the commands, separated by '|', with the setting before it.
std::string without_spinning(std::string_view commands) {
    const std::string prefix = std::string("env ") + spin_time + "=0 ";
    std::string result = prefix;
    for (const char c : commands) {
        result += c;
        if (c == '|')
            result += prefix;
    }
    return result;
}

// The library has read RPMEM_CMD when it was loaded, so this program starts itself once more. Comes
// back only with an error.
Result<> restart_without_spinning(char** argv) {
    const char* const command = std::getenv("RPMEM_CMD");
    const std::string commands = without_spinning(command && *command ? command : "rpmemd");
    if (setenv(spin_time, "0", 1) != 0 || setenv("RPMEM_CMD", commands.c_str(), 1) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot change the environment");
    ::execv("/proc/self/exe", argv);
    return fail_errno(ErrorClass::bug, errno, "cannot start again without spinning");
}

bool spins() {
    const char* const value = std::getenv(spin_time);
    return value == nullptr || std::string_view(value) != "0";
}

Result<> run(const Options& options, char** argv) {
    if (options.no_spin && spins())
        return restart_without_spinning(argv);
    // First of all, so that these processes inherit nothing.
    const Result<Limits> limits = Limits::start(options.provider);
    if (!limits)
        return Failure(limits.error());
    Report report(options);
    report.begin();
    RPMEM_TRY(Cases(options, *limits, report).run());
    report.end();
    return {};
}

} // namespace
} // namespace rpmem::bench

int main(int argc, char** argv) {
    using namespace rpmem::bench;
    if (argc > 2 && std::string_view(argv[1]) == starting_worker)
        return run_starting_worker(argc, argv);
    const Parsed parsed = parse(argc, argv);
    if (parsed.done)
        return parsed.status;
    if (parsed.options.show_pool_size) {
        fmt::print("{}\n", parsed.options.pool_size());
        return EXIT_SUCCESS;
    }
    if (const auto done = run(parsed.options, argv); !done) {
        fmt::print(stderr, "rpmem-bench: {}\n", done.error().text);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
