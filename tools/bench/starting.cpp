#include "starting.hpp"

#include "daemons.hpp"
#include "fabric_library.hpp"
#include "pool.hpp"
#include "programs.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace rpmem::bench {
namespace {

// One start of one process, in nanoseconds.
struct Start {
    std::int64_t ready = 0; // point in time
    std::int64_t call = 0;  // rpmem_create() or rpmem_open()
    std::int64_t close = 0;
    unsigned lanes = 0;
    unsigned daemon_threads = 0;
    std::int64_t since_start = 0; // of the process, until the pool is there
};

struct Place {
    OpenSet set;
    unsigned lanes = 0;
};

Result<> print_start(const std::string& what, const PoolPlace& place, unsigned lanes) {
    const Result<Buffer> memory = Buffer::make(place.size, Pages::untouched);
    if (!memory)
        return Failure(memory.error());
    void* const address = memory->bytes().data();
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
    const unsigned threads = threads_of(Daemons::now().only_new_since(before));
    const Nanoseconds closing = now();
    if (rpmem_close(pool) != 0)
        return library_failure("closing " + place.pool_set);
    const Nanoseconds closed = now();
    fmt::print("{} {} {} {} {}\n", ready.count(), (ready - begin).count(),
               (closed - closing).count(), lanes, threads);
    return {};
}

Result<Start> start_once(const Options& options, const std::string& what, const Place& place) {
    const Result<Ended> ended =
        run_program({own_program, starting_worker, what, options.target, place.set.name,
                     std::to_string(place.set.size), std::to_string(place.lanes)});
    if (!ended)
        return Failure(ended.error());
    Start start;
    std::istringstream text(ended->output);
    if (!(text >> start.ready >> start.call >> start.close >> start.lanes >> start.daemon_threads))
        return fail(ErrorClass::bug, EBADMSG, "the new process said '{}'", ended->output);
    start.since_start = start.ready - ended->started.count();
    return start;
}

// ssh as the library calls it, but for the command.
std::vector<std::string> login_command(const std::string& target) {
    const char* const program = std::getenv("RPMEM_SSH");
    std::vector<std::string> words{program != nullptr && *program != '\0' ? program : "ssh", "-T",
                                   "-oBatchMode=yes"};
    std::string host = target;
    const std::size_t colon = host.rfind(':');
    const std::size_t bracket = host.rfind(']');
    const bool one_colon = colon != std::string::npos && host.find(':') == colon;
    if (colon != std::string::npos &&
        (bracket != std::string::npos ? colon > bracket : one_colon)) {
        words.insert(words.end(), {"-p", host.substr(colon + 1)});
        host.resize(colon);
    }
    std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
    words.insert(words.end(), {host, "true"});
    return words;
}

Samples one_sample(std::int64_t nanoseconds) {
    Samples samples;
    samples.nanoseconds.push_back(static_cast<std::uint64_t>(nanoseconds));
    samples.elapsed = Nanoseconds(nanoseconds);
    return samples;
}

Result<Samples> time_of_program(const std::vector<std::string>& words) {
    const Result<Ended> ended = run_program(words);
    if (!ended)
        return Failure(ended.error());
    return one_sample((ended->ended - ended->started).count());
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

    void report(Report& report, const Rounds& login, const Rounds& load) const {
        add(report, "create", create_, created_since_, login, load);
        add(report, "open", open_, opened_since_, login, load);
        report.add(Row{.name = "close",
                       .variant = "",
                       .bytes = place_.set.size,
                       .lanes = place_.lanes,
                       .ours = close_});
    }

private:
    Result<> measure(const std::string& what, Rounds& call, Rounds& since) {
        const Result<Start> start = start_once(options_, what, place_);
        if (!start)
            return Failure(start.error());
        call.push_back(one_sample(start->call));
        since.push_back(one_sample(start->since_start));
        close_.push_back(one_sample(start->close));
        last_ = *start;
        return {};
    }

    void add(Report& report, const std::string& what, const Rounds& call, const Rounds& since,
             const Rounds& login, const Rounds& load) const {
        const double above =
            summarise(call).median - summarise(login).median - summarise(load).median;
        report.add(Row{.name = what,
                       .variant = "",
                       .bytes = place_.set.size,
                       .lanes = place_.lanes,
                       .ours = call,
                       .limits = {{"login", login}, {"load", load}},
                       .facts = {{"above_login_and_load_ms", above / 1e3},
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
    Rounds load;
    for (unsigned round = 0; round < options.slow_rounds(); ++round) {
        for (const auto& [rounds, words] :
             {std::pair(&login, login_command(options.target)),
              std::pair(&load, std::vector<std::string>{own_program, starting_worker, "load"})}) {
            Result<Samples> samples = time_of_program(words);
            if (!samples)
                return propagate(std::move(samples));
            rounds->push_back(std::move(*samples));
        }
        for (StartingRows& row : rows)
            RPMEM_TRY(row.measure_round());
    }
    for (const StartingRows& row : rows)
        row.report(report, login, load);
    return {};
}

int run_starting_worker(int argc, char** argv) {
    const std::vector<std::string> words(argv + 2, argv + argc);
    Result<> done;
    if (words.size() == 5)
        done = print_start(words[0], {words[1], words[2], std::stoull(words[3])},
                           static_cast<unsigned>(std::stoul(words[4])));
    else if (const Result<FabricLibrary> library = FabricLibrary::load(); !library)
        done = Failure(library.error());
    if (done)
        return EXIT_SUCCESS;
    fmt::print(stderr, "rpmem-bench: {}\n", done.error().text);
    return EXIT_FAILURE;
}

} // namespace rpmem::bench
