// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/options.hpp"

#include "common/base/version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>

namespace rpmem::bench {
namespace {

constexpr const char* introduction =
    R"(Makes the pool POOL_SET on TARGET, measures librpmem and rpmemd, and removes it. Everything is
measured in rounds, in turn with raw TCP between two processes that stand where the program and the
daemon stand: what counts is the quotient. tools/bench/run sets up a target on this machine.)";

constexpr const char* explanation = R"text(
Cases:
  persist   rpmem_persist(), strict and relaxed, each of --sizes, each of --lanes
  deep_persist
            rpmem_deep_persist(), the same
  read      rpmem_read(), the same
  flush     64 times rpmem_flush() of each of --sizes up to 64K, then rpmem_drain(), the same
  open      rpmem_create() and rpmem_open() with each of --lanes, each in a new process
  idle      the daemon's private pages, and processor time of a second, with each of --lanes
  strangers persist of 64 B while somebody connects to the lanes' port 200 times a second, and alone
)text";

const std::set<std::string>& all_cases() {
    static const std::set<std::string> names{"persist", "deep_persist", "read",     "flush",
                                             "open",    "idle",         "strangers"};
    return names;
}

void add_measurements(CLI::App& app, Options& options) {
    CLI::Option* const some =
        app.add_option("--cases", options.cases, "what to measure, see below; default: all");
    some->delimiter(',')->check(CLI::IsMember(all_cases()));
    app.add_flag("--table", options.table,
                 "what is to be within which limit, and whether it is; see rpmem-bench(1)")
        ->excludes(some);
    app.add_option("--sizes", options.sizes, "bytes of one operation: 8, 4K, 1M, ...")
        ->delimiter(',')
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
        ->capture_default_str();
    app.add_option("--lanes", options.lanes, "lanes at the same time, a thread for each")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "how often everything is measured in turn")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--time", options.milliseconds, "milliseconds of one measurement in one round")
        ->check(CLI::Range(1, 60000))
        ->capture_default_str();
}

void add_others(CLI::App& app, Options& options) {
    app.add_option("--medium", options.medium,
                   "a file on the target, on the medium of its pools, for raw TCP to copy to");
    app.add_option("--answer-program", options.answer_program,
                   "rpmem-bench on the target, if it is not where it is here");
    app.add_flag("--no-spin", options.no_spin,
                 "RPMEM_SPIN_TIME=0, and the same for the daemon and for raw TCP: waits sleep");
    app.add_flag("--tls", options.tls,
                 "RPMEM_TLS=require, and --tls=on for the daemon: all lanes are encrypted");
    app.add_flag("--json", options.json, "print JSON instead of a table")
        ->excludes(app.get_option("--table"));
    app.add_flag("--show-pool-size", options.show_pool_size,
                 "print how many bytes the pool has with these options, and exit");
    app.set_version_flag("--version,-V", describe_version("rpmem-bench"));
}

} // namespace

std::size_t Options::pool_size() const {
    constexpr std::size_t least = std::size_t{64} << 20;
    constexpr std::size_t page = pool_header_size;
    std::size_t largest = 0;
    for (const std::size_t size : sizes)
        largest = std::max(
            largest, wants("flush") && size <= largest_flush ? size * flushes_before_drain : size);
    const std::size_t pages = (largest * max_lanes() + page - 1) / page;
    return std::max(pool_header_size + pages * page, least);
}

std::optional<int> parse(int argc, char** argv, Options& options) {
    CLI::App app(introduction, "rpmem-bench");
    app.footer(explanation);
    app.failure_message([](const CLI::App*, const CLI::Error& error) {
        return fmt::format("rpmem-bench: {}; rpmem-bench --help tells the options\n", error.what());
    });
    app.add_option("TARGET", options.target, "[user@]host[:port], as for rpmem_create(3)");
    app.add_option("POOL_SET", options.pool_set,
                   "name of a pool set on the target, with no pool in it yet");
    add_measurements(app, options);
    add_others(app, options);
    try {
        app.parse(argc, argv);
        if (options.cases.empty() && !options.table)
            options.cases = all_cases();
        if (options.pool_set.empty() && !options.show_pool_size)
            throw CLI::RequiredError("TARGET and POOL_SET");
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return {};
}

} // namespace rpmem::bench
