// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/options.hpp"

#include "common/base/log.hpp"
#include "common/base/version.hpp"
#include "common/command_line/help.hpp"
#include "common/command_line/usage_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstdio>

namespace rpmem::bench {
namespace {

constexpr const char* usage = "Usage: rpmem-bench TARGET POOLSET [OPTION]...";

constexpr const char* description =
    "Create the pool of POOLSET on TARGET, measure librpmem and rpmemd with it, and remove it. "
    "Every case is measured in rounds, in turn with raw TCP between two processes on the same "
    "machines; "
    "compare the quotients. tools/bench/run sets up a target on this machine.";

constexpr const char* footer = R"text(Cases:
  persist       rpmem_persist(), strict and relaxed, for each size and number of
                lanes
  deep_persist  rpmem_deep_persist(), likewise
  read          rpmem_read(), likewise
  flush         64 calls of rpmem_flush() for each size up to 64K, then
                rpmem_drain(), likewise
  open          rpmem_create() and rpmem_open() for each number of lanes, each
                in a new process
  idle          private pages of the daemon, and its processor time per second,
                for each number of lanes
  refused       persist of 64 B, alone and during 200 unauthenticated
                connections per second to the port of the lanes
  away          pause of a join, catch-up against a persist of the whole pool,
                calls while the replica catches up, cost of a mark
                (RPMEM_ON_LOSS=alone)
  compare       comparison of the whole pool before the first write

Exit status: 0 done, 1 failed, 2 wrong usage, 3 a row of --table exceeds its
limit

Examples:
  tools/bench/run --table
  rpmem-bench me@target bench.set --cases persist --sizes 64,4K --lanes 1

See rpmem-bench(1).)text";

const std::set<std::string>& all_cases() {
    static const std::set<std::string> names{"persist", "deep_persist", "read", "flush",  "open",
                                             "idle",    "refused",      "away", "compare"};
    return names;
}

// Returns an empty text if NAME is a case, or else an error text.
std::string check_case(const std::string& name) {
    if (all_cases().contains(name))
        return {};
    return fmt::format("\"{}\" is not a case; the cases are {}", name,
                       fmt::join(all_cases(), ", "));
}

void add_measurements(CLI::App& app, Options& options) {
    CLI::Option* const cases =
        app.add_option("--cases", options.cases, "what to measure, see below (default all)");
    cases->delimiter(',')->check(check_case)->option_text("CASE,...");
    app.add_flag("--table", options.table,
                 "measure what has a limit, and print for each row whether it is within it")
        ->excludes(cases);
    app.add_option("--sizes", options.sizes,
                   "sizes of one operation, such as 64, 4K or 1M (at most 1G; default "
                   "8,64,4K,64K,1M)")
        ->delimiter(',')
        ->transform(command_line::size(std::uint64_t{1} << 30))
        ->option_text("SIZE,...");
    app.add_option("--lanes", options.lanes,
                   "numbers of lanes, each with a thread (1 to 1024; default 1,4)")
        ->delimiter(',')
        ->check(command_line::number(1, 1024))
        ->option_text("N,...");
    app.add_option("--rounds", options.rounds, "number of rounds (1 to 1000; default 11)")
        ->check(command_line::number(1, 1000))
        ->option_text("N");
    app.add_option("--time", options.milliseconds,
                   "duration of one measurement in one round (1 to 60000; default 10)")
        ->check(command_line::number(1, 60000))
        ->option_text("MILLISECONDS");
}

void add_others(CLI::App& app, Options& options) {
    app.add_option("--medium", options.medium,
                   "file on the target to which raw TCP copies, on the medium of the pools "
                   "(default memory)")
        ->option_text("FILE");
    app.add_option("--answer-program", options.answer_program,
                   "rpmem-bench on the target (default the same path as here)")
        ->option_text("PATH");
    app.add_flag("--no-spin", options.no_spin,
                 "let waiting threads sleep at once: RPMEM_SPIN_TIME=0 at both ends");
    app.add_flag("--tls", options.tls,
                 "encrypt all lanes: RPMEM_TLS=require here, --tls=on for the daemon");
    app.add_flag("--json", options.json, "print JSON instead of a table")
        ->excludes(app.get_option("--table"));
    app.add_flag("--show-pool-size", options.show_pool_size,
                 "print the size in bytes that the pool needs with these options, and exit");
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("-V,--version", describe_version("rpmem-bench"), "print the version");
}

int usage_error(const std::string& problem) {
    fmt::print(stderr, "rpmem-bench: {}\n{}\nSee rpmem-bench --help.\n", printable(problem), usage);
    return 2;
}

} // namespace

std::size_t Options::pool_size() const {
    constexpr std::size_t min_size = std::size_t{64} << 20;
    constexpr std::size_t page = pool_header_size;
    std::size_t largest = 0;
    for (const std::size_t size : sizes)
        largest = std::max(
            largest, wants("flush") && size <= largest_flush ? size * flushes_before_drain : size);
    const std::size_t pages = (largest * max_lanes() + page - 1) / page;
    return std::max(pool_header_size + pages * page, min_size);
}

std::optional<int> parse(int argc, char** argv, Options& options) {
    CLI::App app(description, "rpmem-bench");
    app.footer(footer);
    app.add_option("TARGET", options.target, "[user@]host[:port], see rpmem_create(3)")
        ->option_text("TARGET");
    app.add_option("POOLSET", options.pool_set,
                   "pool set file on the target, whose pool does not exist yet")
        ->option_text("POOLSET");
    add_measurements(app, options);
    add_others(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", command_line::help_page(app, usage, description));
        return 0;
    } catch (const CLI::CallForVersion& version) {
        fmt::print("{}\n", version.what());
        return 0;
    } catch (const CLI::ParseError& error) {
        return usage_error(command_line::problem_of(app, error));
    }
    if (options.cases.empty() && !options.table)
        options.cases = all_cases();
    if (options.pool_set.empty() && !options.show_pool_size)
        return usage_error(options.target.empty() ? "TARGET and POOLSET are missing"
                                                  : "POOLSET is missing");
    return {};
}

} // namespace rpmem::bench
