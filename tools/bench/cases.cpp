#include "tools/bench/cases.hpp"

#include "tools/bench/disturbance.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/replicas.hpp"
#include "tools/bench/starting.hpp"

#include <algorithm>
#include <thread>

namespace rpmem::bench {
namespace {

constexpr std::uint64_t small_message = 8; // the other half of an exchange

} // namespace

std::vector<Cases::NamedTask> Cases::network_tasks(const LimitTask& task) const {
    std::vector<NamedTask> tasks;
    if (without_network_)
        return tasks;
    if (!options_.no_spin)
        tasks.push_back({"tcp_spinning", task});
    // Which is the quicker one depends on how many processors there are.
    if (options_.no_spin || task.connections > 1) {
        tasks.push_back({"tcp_sleeping", task});
        tasks.back().task.kind = LimitKind::tcp_sleeping;
    }
    return tasks;
}

Result<> Cases::measure_limit(Comparison& comparison, const LimitTask& task) const {
    RPMEM_ASSIGN(Samples samples, limits_.measure(task));
    comparison.rounds.push_back(std::move(samples));
    return {};
}

Result<> Cases::in_rounds(Row row, const Measure& ours, const std::vector<NamedTask>& tasks) {
    for (const NamedTask& task : tasks)
        row.limits.push_back({task.name, {}});
    for (unsigned round = 0; round < (row.bandwidth ? options_.slow_rounds() : options_.rounds);
         ++round) {
        if (ours) {
            RPMEM_ASSIGN(Samples samples, ours());
            row.ours.push_back(std::move(samples));
        }
        for (std::size_t i = 0; i < tasks.size(); ++i)
            RPMEM_TRY(measure_limit(row.limits[i], tasks[i].task));
    }
    report_.add(std::move(row));
    return {};
}

bool Cases::has_lanes(const Pool& pool, unsigned lanes) {
    if (lanes <= pool.lanes())
        return true;
    report_.note(fmt::format("the pool has {} lanes, not {}: left out", pool.lanes(), lanes));
    return false;
}

Result<> Cases::operations(const Pool& pool, Row row, const Operation& operation) {
    for (const unsigned lanes : options_.lanes) {
        if (!has_lanes(pool, lanes))
            continue;
        // As those that it is compared with. Where the daemon is another machine's, nothing is
        // placed.
        const bool apart = lanes == 1 && pool.daemon() != 0;
        const Measurement measurement{.operation = operation,
                                      .lanes = lanes,
                                      .apart = apart,
                                      .duration = options_.time,
                                      .least = least_operations};
        // So that connecting a lane and the first touch of a page are not part of it.
        Measurement first = measurement;
        first.duration = Nanoseconds::zero();
        RPMEM_TRY(pool.measure(first));
        const std::uint64_t bytes = operation.size * operation.flushes;
        const bool reads = operation.kind == OperationKind::read;
        std::vector<NamedTask> tasks = network_tasks({.kind = LimitKind::tcp_spinning,
                                                      .connections = lanes,
                                                      .request = reads ? small_message : bytes,
                                                      .answer = reads ? bytes : small_message,
                                                      .duration = options_.time,
                                                      .least = least_operations,
                                                      .apart = apart,
                                                      .reads = reads});
        if (!options_.medium.empty() && !without_network_ && !reads && lanes == 1)
            tasks.push_back({"medium",
                             {.kind = LimitKind::medium,
                              .request = bytes,
                              .duration = options_.time / 4,
                              .least = least_operations}});
        row.lanes = lanes;
        RPMEM_TRY(in_rounds(
            row, [&] { return pool.measure(measurement); }, tasks));
    }
    return {};
}

Result<> Cases::persist(const Pool& pool) {
    for (const std::uint64_t size : options_.sizes)
        for (const bool relaxed : {false, true})
            RPMEM_TRY(operations(
                pool, {.name = "persist", .variant = relaxed ? "relaxed" : "strict", .bytes = size},
                {OperationKind::persist, relaxed, size}));
    return {};
}

Result<> Cases::read(const Pool& pool) {
    for (const std::uint64_t size : options_.sizes)
        RPMEM_TRY(operations(pool, {.name = "read", .variant = "", .bytes = size},
                             {OperationKind::read, false, size}));
    return {};
}

Result<> Cases::flush(const Pool& pool) {
    for (const bool relaxed : {false, true})
        RPMEM_TRY(
            operations(pool,
                       {.name = fmt::format("flush{}", options_.flushes),
                        .variant = relaxed ? "relaxed" : "strict",
                        .bytes = options_.flush_size * options_.flushes},
                       {OperationKind::flush, relaxed, options_.flush_size, options_.flushes}));
    return {};
}

std::vector<Cases::NamedTask> Cases::stream_tasks(bool pull) const {
    const std::uint64_t range = options_.range;
    std::vector<NamedTask> tasks;
    if (!without_network_)
        tasks.push_back({"tcp_stream",
                         {.kind = LimitKind::tcp_sleeping,
                          .request = pull ? small_message : range,
                          .answer = pull ? range : small_message,
                          .least = 1,
                          .reads = pull}});
    tasks.push_back({"memcpy", {.kind = LimitKind::memory_copy, .request = range, .least = 1}});
    return tasks;
}

Result<> Cases::transfer(const Pool& pool, OperationKind kind) {
    const bool pull = kind == OperationKind::read;
    const std::uint64_t range = options_.range;
    const std::vector<NamedTask> tasks = stream_tasks(pull);
    for (const unsigned lanes : options_.lanes) {
        if (!has_lanes(pool, lanes))
            continue;
        const Measurement measurement{
            .operation = {.kind = kind, .size = range}, .lanes = lanes, .divided = true};
        const auto ours = [&] { return pool.measure(measurement); };
        RPMEM_TRY(ours());
        RPMEM_TRY(in_rounds({.name = pull ? "pull" : "push",
                             .variant = pull ? "" : "strict",
                             .bytes = range,
                             .lanes = lanes,
                             .bandwidth = true},
                            ours, tasks));
    }
    return {};
}

Result<> Cases::idle(const Pool& pool) {
    const auto in_milliseconds = [](Nanoseconds time) {
        return std::chrono::duration<double, std::milli>(time).count();
    };
    // What the last operation left to be done is not part of it.
    std::this_thread::sleep_for(settling_time);
    const Nanoseconds own = own_cpu_time();
    const Nanoseconds other = cpu_time_of(pool.daemon());
    std::this_thread::sleep_for(std::chrono::seconds(options_.idle));
    Row row{.name = "idle", .variant = "", .lanes = pool.lanes()};
    row.facts = {{"seconds", static_cast<double>(options_.idle)},
                 {"own_cpu_ms", in_milliseconds(own_cpu_time() - own)}};
    if (pool.daemon() != 0)
        row.facts.push_back({"target_cpu_ms", in_milliseconds(cpu_time_of(pool.daemon()) - other)});
    report_.add(std::move(row));
    return {};
}

Result<> Cases::limits() {
    for (const std::uint64_t size : options_.sizes) {
        std::vector<NamedTask> tasks = network_tasks({.kind = LimitKind::tcp_spinning,
                                                      .request = size,
                                                      .answer = small_message,
                                                      .duration = options_.time,
                                                      .least = least_operations,
                                                      .apart = true});
        tasks.push_back({"memcpy",
                         {.kind = LimitKind::memory_copy,
                          .request = size,
                          .duration = options_.time / 4,
                          .least = least_operations}});
        RPMEM_TRY(in_rounds({.name = "limits", .variant = "", .bytes = size}, nullptr, tasks));
    }
    return in_rounds(
        {.name = "limits", .variant = "stream", .bytes = options_.range, .bandwidth = true},
        nullptr, stream_tasks(false));
}

Result<> Cases::run_with_pool(const Pool& pool) {
    if (options_.wants("persist"))
        RPMEM_TRY(persist(pool));
    if (options_.wants("read"))
        RPMEM_TRY(read(pool));
    if (options_.wants("flush"))
        RPMEM_TRY(flush(pool));
    if (options_.wants("push"))
        RPMEM_TRY(transfer(pool, OperationKind::persist));
    if (options_.wants("pull"))
        RPMEM_TRY(transfer(pool, OperationKind::read));
    if (options_.wants("idle"))
        RPMEM_TRY(idle(pool));
    if (options_.wants("replicas") && !options_.second_pool_set.empty())
        RPMEM_TRY(measure_replicas(pool, options_, report_));
    if (options_.wants("strangers") && !without_network_)
        RPMEM_TRY(measure_disturbance(pool, options_, limits_, report_));
    return {};
}

Result<> Cases::run() {
    const auto wants_other_than = [&](const std::set<std::string>& names) {
        return !std::ranges::includes(names, options_.cases);
    };
    if (wants_other_than({"open", "connect1024", "idle", "replicas"}))
        if (const Result<> connected = limits_.connect(); !connected) {
            without_network_ = true;
            report_.note(connected.error().text);
        }
    if (options_.wants("limits"))
        RPMEM_TRY(limits());
    if (options_.wants("open"))
        RPMEM_TRY(measure_starting(options_, report_));
    if (options_.wants("connect1024"))
        RPMEM_TRY(measure_many_lanes(options_, report_));
    if (options_.wants("memory") && !without_network_)
        RPMEM_TRY(measure_memory(options_, limits_, report_));
    if (!wants_other_than({"limits", "open", "connect1024", "memory"}))
        return {};
    RPMEM_ASSIGN(const auto pool,
                 Pool::create({options_.target, options_.pool_set, options_.pool_size()},
                              options_.most_lanes()));
    if (pool->daemon() == 0)
        report_.note(
            "no rpmemd on this machine is the pool's: its processor time is not known, and "
            "nothing is placed on a processor of its own");
    return run_with_pool(*pool);
}

} // namespace rpmem::bench
