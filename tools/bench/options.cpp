#include "tools/bench/options.hpp"

#include "tools/bench/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <librpmem.h>

#include <algorithm>
#include <cstdio>

namespace rpmem::bench {
namespace {

constexpr const char* introduction =
    R"(Measures librpmem and rpmemd, and in the same run what the machine itself can do.

rpmem-bench makes the pool POOL_SET on TARGET, measures, and removes it. Every measurement is
repeated in rounds, in turn with raw TCP between two processes that stand where the program and the
daemon stand: a noisy machine disturbs both alike, and what counts is the quotient. tools/bench/run
sets up a target on this machine.)";

constexpr const char* explanation = R"text(
Cases:
  persist   rpmem_persist(), strict and relaxed, each of --sizes, each of --lanes
  read      rpmem_read(), the same
  flush     --flushes times rpmem_flush() of --flush-size, then rpmem_drain()
  push      rpmem_persist() of the whole --range, each of --lanes
  pull      rpmem_read() of the whole --range, each of --lanes
  open      rpmem_create(), rpmem_open() and rpmem_close(), each in a new process
  connect1024
            how much longer it takes to open and to use each lane once with 1024 lanes than with one
  idle      processor time that an open pool costs in --idle seconds
  replicas  one pool and two in turn; needs --second-pool-set
  strangers persist of 64 B while somebody connects to the lanes' port 200 times a second, and alone
  memory    private pages of the daemon, with one and with 256 idle lanes
  limits    raw TCP and memcpy alone, for each of --sizes
  latency   persist and read

"CPU here" and "CPU there" are processor time of one operation, on this side and on the target.
"(1.20x 1.15x)" is how many times the raw measurement's time, or for push and pull what part of its
bandwidth, ours is: the median over the rounds, and the best round of ours against the best of it,
which says more on a machine that does other things as well.

With --medium, raw TCP copies to that file and flushes it, as a daemon does, and persist and flush on one
lane have the limit "medium" as well: the same bytes copied into that file and made durable, without
a network.

Examples:
  tools/bench/run                              all of it on this machine, in a minute or two
  tools/bench/run --cases persist --sizes 64   one row of it
  tools/bench/run --table                      what is to be within which limit, and whether it is
  tools/bench/run --two-hosts --table          the same between two networks (as root)
  tools/bench/run --no-spin                    against raw TCP that sleeps
  tools/bench/run --range 1G --lanes 1,4 --cases push,pull
  rpmem-bench me@target bench.set --json       another machine, for a program to read

Another library and daemon are measured with LD_LIBRARY_PATH and RPMEM_CMD; see rpmem-bench(1).)text";

const std::set<std::string>& all_cases() {
    static const std::set<std::string> names{"persist", "read",     "flush",       "push",
                                             "pull",    "open",     "connect1024", "idle",
                                             "memory",  "replicas", "strangers",   "limits"};
    return names;
}

std::set<std::string> expand(const std::vector<std::string>& names) {
    std::set<std::string> cases(names.begin(), names.end());
    if (cases.empty())
        cases = all_cases();
    if (cases.erase("latency") != 0)
        cases.insert({"persist", "read"});
    return cases;
}

std::vector<OpenSet> parse_open_sets(const std::vector<std::string>& texts) {
    std::vector<OpenSet> sets;
    for (const std::string& text : texts) {
        const std::size_t separator = text.rfind('=');
        if (separator == std::string::npos)
            throw CLI::ValidationError("--open-set", text + " is not NAME=SIZE");
        std::string size = text.substr(separator + 1);
        if (const std::string wrong = CLI::AsSizeValue(false)(size); !wrong.empty())
            throw CLI::ValidationError("--open-set", wrong);
        sets.push_back({text.substr(0, separator), std::stoull(size)});
    }
    return sets;
}

void require_second_pool_set(const std::vector<std::string>& cases, const Options& options) {
    if (std::ranges::count(cases, "replicas") != 0 && options.second_pool_set.empty())
        throw CLI::RequiredError("--cases replicas: a second pool set (--second-pool-set)");
}

// Of the elements of a list, so that blanks may follow a comma.
CLI::Validator trimmed() {
    return {[](std::string& text) {
                CLI::detail::trim(text);
                return std::string();
            },
            ""};
}

void require_target(const Options& options) {
    if (options.show_pool_size || !options.compared.empty())
        return;
    if (options.target.empty() || options.pool_set.empty())
        throw CLI::RequiredError("TARGET and POOL_SET");
}

void add_measurements(CLI::App& app, Options& options) {
    const CLI::AsSizeValue as_size(false);
    const CLI::Range size_range(std::uint64_t{1}, std::uint64_t{1} << 30);
    app.add_option("--sizes", options.sizes, "bytes of one operation: 8, 4K, 1M, ...")
        ->delimiter(',')
        ->transform(as_size)
        ->check(size_range)
        ->transform(trimmed()) // what is added last comes first
        ->capture_default_str();
    app.add_option("--lanes", options.lanes, "lanes at the same time, a thread for each")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024))
        ->transform(trimmed())
        ->capture_default_str();
    app.add_option("--range", options.range, "bytes of push and pull")
        ->transform(as_size)
        ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{1} << 40))
        ->capture_default_str();
    app.add_option("--flushes", options.flushes, "flushes before a drain")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    app.add_option("--flush-size", options.flush_size, "bytes of each of them")
        ->transform(as_size)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "how often everything is measured in turn")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option_function<unsigned>(
           "--time", [&](unsigned value) { options.time = std::chrono::milliseconds(value); },
           "milliseconds of one measurement in one round")
        ->check(CLI::Range(1, 60000))
        ->default_str("10");
    app.add_option("--idle", options.idle, "seconds of the case idle")
        ->check(CLI::Range(1, 3600))
        ->capture_default_str();
}

void add_output(CLI::App& app, Options& options) {
    app.add_flag("--no-spin", options.no_spin,
                 "RPMEM_SPIN_TIME=0, and the same for the daemon: waits sleep at once, and raw TCP "
                 "that sleeps is the limit to compare with");
    app.add_flag("--tls", options.tls,
                 "RPMEM_TLS=require, and --tls=on for the daemon: all lanes are encrypted");
    app.add_flag("--json", options.json, "print JSON instead of a table");
    app.add_option(
           "--compare", options.compared,
           "two reports of --json: print their medians side by side, as a table in Markdown")
        ->expected(2)
        ->check(CLI::ExistingFile);
    app.add_flag(
        "--show-pool-size", options.show_pool_size,
        "print how many bytes the pool has with these options, its header included, and exit");
    app.set_version_flag("--version,-V", "rpmem-bench 1.3.0");
}

} // namespace

unsigned Options::most_lanes() const { return *std::max_element(lanes.begin(), lanes.end()); }

std::uint64_t Options::largest() const {
    return std::max(*std::max_element(sizes.begin(), sizes.end()), flushes * flush_size);
}

std::uint64_t Options::pool_size() const {
    if (table)
        return table_pool_size;
    constexpr std::uint64_t page = pool_header_size;
    const bool whole_range = wants("push") || wants("pull");
    const std::uint64_t needed = std::max(whole_range ? range : 0, largest() * most_lanes());
    return std::max<std::uint64_t>(page + (needed + page - 1) / page * page, RPMEM_MIN_POOL);
}

Parsed parse(int argc, char** argv) {
    Parsed parsed;
    Options& options = parsed.options;
    CLI::App app(introduction, "rpmem-bench");
    app.footer(explanation);
    std::vector<std::string> cases;
    std::vector<std::string> open_sets;
    app.add_option("TARGET", options.target, "[user@]host[:port], as for rpmem_create(3)");
    app.add_option("POOL_SET", options.pool_set,
                   "name of a pool set on the target, with no pool in it yet");
    std::set<std::string> known = all_cases();
    known.insert("latency");
    CLI::Option* const some =
        app.add_option("--cases", cases, "what to measure, see below; default: all")
            ->delimiter(',')
            ->check(CLI::IsMember(known))
            ->transform(trimmed());
    app.add_flag("--table", options.table,
                 "what is to be within which limit, and whether it is; see rpmem-bench(1)")
        ->excludes(some);
    add_measurements(app, options);
    app.add_option(
        "--open-set", open_sets,
        "NAME=SIZE: another pool set for the case open, and the size of its pool; may be "
        "given several times; default: POOL_SET");
    app.add_option("--open-lanes", options.open_lanes, "lanes asked for in the case open")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096))
        ->transform(trimmed())
        ->capture_default_str();
    app.add_option("--second-pool-set", options.second_pool_set,
                   "another pool set as large as POOL_SET, for the case replicas");
    app.add_option(
        "--medium", options.medium,
        "file on the target, on the same medium as its pools: raw TCP copies to it, and it "
        "is measured, too; made if missing, overwritten otherwise");
    app.add_option(
        "--answer-program", options.answer_program,
        "rpmem-bench on the target, which is raw TCP's other end; default: the path that "
        "it has here");
    add_output(app, options);
    try {
        app.parse(argc, argv);
        options.cases = expand(cases);
        require_second_pool_set(cases, options);
        options.open_sets = parse_open_sets(open_sets);
        require_target(options);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) { // --help, --version
            app.exit(error);
        } else {
            fmt::print(stderr, "rpmem-bench: {}; rpmem-bench --help tells the options\n",
                       error.what());
            parsed.status = 2;
        }
        parsed.done = true;
    }
    return parsed;
}

} // namespace rpmem::bench
