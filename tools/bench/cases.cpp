#include "cases.hpp"

#include "replicas.hpp"
#include "starting.hpp"

#include <algorithm>
#include <thread>

namespace rpmem::bench {
namespace {

constexpr std::uint64_t small_message = 8; // the other half of an exchange

} // namespace

std::vector<Cases::NamedTask> Cases::network_tasks(std::uint64_t request, std::uint64_t answer,
                                                   unsigned lanes) const {
    const LimitTask task{LimitKind::tcp_blocking, lanes,           request, answer,
                         options_.time,           least_operations};
    std::vector<NamedTask> tasks{{"tcp_blocking", task}};
    if (lanes > 1)
        return tasks; // more threads that spin than processors would measure the scheduler
    tasks.push_back({"tcp_spinning", task});
    tasks.back().task.kind = LimitKind::tcp_spinning;
    tasks.push_back({"fabric", task});
    tasks.back().task.kind = LimitKind::fabric;
    return tasks;
}

Result<> Cases::measure_limit(Comparison& comparison, const LimitTask& task) {
    const bool over_fabric = task.kind == LimitKind::fabric;
    if (over_fabric && without_fabric_)
        return {};
    Result<Samples> samples = limits_.measure(task);
    if (!samples && over_fabric && !options_.provider_given) { // a pity, but no reason to stop
        without_fabric_ = true;
        report_.note(samples.error().text);
        return {};
    }
    if (!samples)
        return propagate(std::move(samples));
    comparison.rounds.push_back(std::move(*samples));
    return {};
}

Result<> Cases::in_rounds(Row row, const Measure& ours, const std::vector<NamedTask>& tasks) {
    for (const NamedTask& task : tasks)
        row.limits.push_back({task.name, {}});
    for (unsigned round = 0; round < (row.bandwidth ? options_.slow_rounds() : options_.rounds);
         ++round) {
        if (ours) {
            Result<Samples> samples = ours();
            if (!samples)
                return propagate(std::move(samples));
            row.ours.push_back(std::move(*samples));
        }
        for (std::size_t i = 0; i < tasks.size(); ++i)
            RPMEM_TRY(measure_limit(row.limits[i], tasks[i].task));
    }
    std::erase_if(row.limits, [](const Comparison& limit) { return limit.rounds.empty(); });
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
        const bool apart = lanes == 1 && !options_.no_spin; // as those that it is compared with
        Measurement measurement{operation, lanes, false, apart, options_.time, least_operations};
        // So that connecting a lane and the first touch of a page are not part of it.
        Measurement first = measurement;
        first.duration = Nanoseconds::zero();
        if (Result<Samples> warm = pool.measure(first); !warm)
            return propagate(std::move(warm));
        const std::uint64_t bytes = operation.size * operation.flushes;
        const bool reads = operation.kind == OperationKind::read;
        std::vector<NamedTask> tasks =
            network_tasks(reads ? small_message : bytes, reads ? bytes : small_message, lanes);
        if (!options_.medium.empty() && !reads && lanes == 1)
            tasks.push_back(
                {"medium", {LimitKind::medium, 1, bytes, 0, options_.time / 4, least_operations}});
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

Result<> Cases::transfer(const Pool& pool, OperationKind kind) {
    const bool pull = kind == OperationKind::read;
    const std::uint64_t range = options_.range;
    const LimitTask stream{LimitKind::tcp_blocking,      1,
                           pull ? small_message : range, pull ? range : small_message,
                           Nanoseconds::zero(),          1};
    const LimitTask copy{LimitKind::memory_copy, 1, range, 0, Nanoseconds::zero(), 1};
    for (const unsigned lanes : options_.lanes) {
        if (!has_lanes(pool, lanes))
            continue;
        const Measurement measurement{{kind, false, range}, lanes, true, false,
                                      Nanoseconds::zero(),  1};
        const auto ours = [&] { return pool.measure(measurement); };
        if (Result<Samples> warm = ours(); !warm)
            return propagate(std::move(warm));
        RPMEM_TRY(in_rounds({.name = pull ? "pull" : "push",
                             .variant = pull ? "" : "strict",
                             .bytes = range,
                             .lanes = lanes,
                             .bandwidth = true},
                            ours, {{"tcp_stream", stream}, {"memcpy", copy}}));
    }
    return {};
}

Result<> Cases::idle(const Pool& pool) {
    const auto in_milliseconds = [](Nanoseconds time) {
        return std::chrono::duration<double, std::milli>(time).count();
    };
    // What the last operation left to be done is not part of it.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
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
        std::vector<NamedTask> tasks = network_tasks(size, small_message, 1);
        tasks.push_back(
            {"memcpy", {LimitKind::memory_copy, 1, size, 0, options_.time / 4, least_operations}});
        RPMEM_TRY(in_rounds({.name = "limits", .variant = "", .bytes = size}, nullptr, tasks));
    }
    return in_rounds(
        {.name = "limits", .variant = "stream", .bytes = options_.range, .bandwidth = true},
        nullptr,
        {{"tcp_stream",
          {LimitKind::tcp_blocking, 1, options_.range, small_message, Nanoseconds::zero(), 1}},
         {"memcpy", {LimitKind::memory_copy, 1, options_.range, 0, Nanoseconds::zero(), 1}}});
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
    return {};
}

Result<> Cases::run() {
    if (options_.wants("limits"))
        RPMEM_TRY(limits());
    if (options_.wants("open"))
        RPMEM_TRY(measure_starting(options_, report_));
    const bool needs_pool = std::ranges::any_of(
        options_.cases, [](const std::string& name) { return name != "limits" && name != "open"; });
    if (!needs_pool)
        return {};
    const auto pool = Pool::create({options_.target, options_.pool_set, options_.pool_size()},
                                   options_.most_lanes());
    if (!pool)
        return Failure(pool.error());
    if ((*pool)->daemon() == 0)
        report_.note(
            "no rpmemd on this machine is the pool's: its processor time is not known, and "
            "the limits are of this machine's loopback, not of the way to the target");
    return run_with_pool(**pool);
}

} // namespace rpmem::bench
