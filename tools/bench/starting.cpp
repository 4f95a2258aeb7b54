#include "tools/bench/starting.hpp"

#include "tools/bench/daemons.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/pool.hpp"
#include "tools/bench/programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace rpmem::bench {
namespace {

// One start of one process, in nanoseconds.
struct Start {
    std::int64_t ready = 0; // point in time
    std::int64_t call = 0;  // rpmem_create() or rpmem_open()
    std::int64_t use = 0;   // of each lane, once
    std::int64_t close = 0;
    unsigned lanes = 0;
    unsigned daemon_threads = 0;
    std::int64_t since_start = 0; // of the process, until the pool is there
};

struct Place {
    OpenSet set;
    unsigned lanes = 0;
};

// Each once, with the least that can be made durable.
Result<> use_lanes(RPMEMpool* pool, unsigned lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (rpmem_persist(pool, pool_header_size, 64, lane, 0) != 0)
            return library_failure(fmt::format("the first use of lane {}", lane));
    return {};
}

// WHAT is to create or open a pool, or to open it and use its lanes.
Result<> print_start(const std::string& what, const PoolPlace& place, unsigned lanes) {
    RPMEM_ASSIGN(const Buffer memory, Buffer::make(place.size, Pages::untouched));
    void* const address = memory.bytes().data();
    const rpmem_pool_attr attributes = pool_attributes();
    const Daemons before = Daemons::now();
    const Nanoseconds begin = now();
    RPMEMpool* const pool = what == "create"
                                ? rpmem_create(place.target.c_str(), place.pool_set.c_str(),
                                               address, place.size, &lanes, &attributes)
                                : rpmem_open(place.target.c_str(), place.pool_set.c_str(), address,
                                             place.size, &lanes, nullptr);
    const Nanoseconds ready = now();
    if (pool == nullptr)
        return library_failure("to " + what + " " + place.pool_set + " on " + place.target);
    if (what == "use")
        RPMEM_TRY(use_lanes(pool, lanes));
    const Nanoseconds used = now();
    const unsigned threads = threads_of(Daemons::now().only_new_since(before));
    const Nanoseconds closing = now();
    if (rpmem_close(pool) != 0)
        return library_failure("closing " + place.pool_set);
    const Nanoseconds closed = now();
    fmt::print("{} {} {} {} {} {}\n", ready.count(), (ready - begin).count(),
               (used - ready).count(), (closed - closing).count(), lanes, threads);
    return {};
}

Result<Start> start_once(const Options& options, const std::string& what, const Place& place) {
    RPMEM_ASSIGN(const Ended ended,
                 run_program({own_program, starting_worker, what, options.target, place.set.name,
                              std::to_string(place.set.size), std::to_string(place.lanes)}));
    Start start;
    std::istringstream text(ended.output);
    if (!(text >> start.ready >> start.call >> start.use >> start.close >> start.lanes >>
          start.daemon_threads))
        return fail(ErrorClass::bug, EBADMSG, "the new process said '{}'", ended.output);
    start.since_start = start.ready - ended.started.count();
    return start;
}

Samples one_sample(std::int64_t nanoseconds) {
    Samples samples;
    samples.nanoseconds.push_back(static_cast<std::uint64_t>(nanoseconds));
    samples.elapsed = Nanoseconds(nanoseconds);
    return samples;
}

Result<Samples> time_of_program(const std::vector<std::string>& words) {
    RPMEM_ASSIGN(const Ended ended, run_program(words));
    return one_sample((ended.ended - ended.started).count());
}

// All rounds of one pool set and one number of lanes.
class StartingRows {
public:
    StartingRows(const Options& options, Place place)
        : options_(options), place_(std::move(place)) {}

    Result<> measure_round() {
        RPMEM_TRY(measure("create", create_, created_since_));
        RPMEM_TRY(measure("open", open_, opened_since_));
        return remove_pool({options_.target, place_.set.name, place_.set.size});
    }

    void report(Report& report, const Rounds& login) const {
        add(report, "create", create_, created_since_, login);
        add(report, "open", open_, opened_since_, login);
        report.add(Row{.name = "close",
                       .variant = "",
                       .bytes = place_.set.size,
                       .lanes = place_.lanes,
                       .ours = close_});
    }

private:
    Result<> measure(const std::string& what, Rounds& call, Rounds& since) {
        RPMEM_ASSIGN(const Start start, start_once(options_, what, place_));
        call.push_back(one_sample(start.call));
        since.push_back(one_sample(start.since_start));
        close_.push_back(one_sample(start.close));
        last_ = start;
        return {};
    }

    void add(Report& report, const std::string& what, const Rounds& call, const Rounds& since,
             const Rounds& login) const {
        report.add(Row{.name = what,
                       .variant = "",
                       .bytes = place_.set.size,
                       .lanes = place_.lanes,
                       .ours = call,
                       .limits = {{"login", login}},
                       .facts = {{"above_login_ms", median_above(call, login) / 1e3},
                                 {"whole_process_ms", summarise(since).median / 1e3},
                                 {"lanes_in_force", static_cast<double>(last_.lanes)},
                                 {"target_threads", static_cast<double>(last_.daemon_threads)}}});
    }

    const Options& options_;
    Place place_;
    Rounds create_;
    Rounds created_since_;
    Rounds open_;
    Rounds opened_since_;
    Rounds close_;
    Start last_;
};

// The first pool set with all numbers of lanes, the others with the first one.
std::vector<Place> places_of(const Options& options) {
    std::vector<OpenSet> sets = options.open_sets;
    if (sets.empty())
        sets.push_back({options.pool_set, options.pool_size()});
    std::vector<Place> places;
    for (const OpenSet& set : sets) {
        for (const unsigned lanes : options.open_lanes) {
            places.push_back({set, lanes});
            if (set.name != sets.front().name)
                break;
        }
    }
    return places;
}

} // namespace

Result<> measure_starting(const Options& options, Report& report) {
    std::vector<StartingRows> rows;
    for (const Place& place : places_of(options))
        rows.emplace_back(options, place);
    Rounds login;
    for (unsigned round = 0; round < options.slow_rounds(); ++round) {
        RPMEM_ASSIGN(Samples samples, time_of_program(ssh_words(options.target, "true")));
        login.push_back(std::move(samples));
        for (StartingRows& row : rows)
            RPMEM_TRY(row.measure_round());
    }
    for (const StartingRows& row : rows)
        row.report(report, login);
    return {};
}

Result<> measure_many_lanes(const Options& options, Report& report) {
    constexpr unsigned many = 1024;
    const OpenSet set{options.pool_set, options.pool_size()};
    RPMEM_TRY(start_once(options, "create", {set, 1}));
    Row row{.name = "connect1024", .variant = "", .lanes = many};
    Rounds first_use;
    for (unsigned round = 0; round < options.slow_rounds(); ++round) {
        RPMEM_ASSIGN(const Start one, start_once(options, "use", {set, 1}));
        RPMEM_ASSIGN(const Start all, start_once(options, "use", {set, many}));
        row.lanes = all.lanes;
        first_use.push_back(one_sample(all.use));
        // Whenever lanes are connected, it is in one of the two.
        row.ours.push_back(
            one_sample(std::max<std::int64_t>(all.call + all.use - one.call - one.use, 0)));
    }
    row.facts = {{"first_use_ms", summarise(first_use).median / 1e3}};
    if (row.lanes < many)
        report.note(fmt::format("the pool has {} lanes, not {}", row.lanes, many));
    report.add(std::move(row));
    return remove_pool({options.target, set.name, set.size});
}

int run_starting_worker(int argc, char** argv) {
    const std::vector<std::string> words(argv + 2, argv + argc);
    if (words.size() != 5)
        return EXIT_FAILURE;
    const Result<> done = print_start(words[0], {words[1], words[2], std::stoull(words[3])},
                                      static_cast<unsigned>(std::stoul(words[4])));
    if (done)
        return EXIT_SUCCESS;
    fmt::print(stderr, "rpmem-bench: {}\n", done.error().text);
    return EXIT_FAILURE;
}

} // namespace rpmem::bench
