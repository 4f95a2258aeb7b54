// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/prometheus.hpp"

#include "common/base/log.hpp"
#include "common/statistics/exposition.hpp"

#include <set>
#include <vector>

namespace rpmem::ctl {
namespace {

using initiator::call_kinds;
using initiator::call_names;
using initiator::link_state_names;
using initiator::PoolSnapshot;
using initiator::text_in;
using statistics::Exposition;
using statistics::Labels;
using statistics::with;

Labels labels_of(const PoolSnapshot& pool) {
    const std::string name = printable(text_in(pool.facts.name));
    const std::size_t colon = std::min(name.rfind(':'), name.size());
    return {{"target", name.substr(0, colon)},
            {"pool_set", name.substr(std::min(colon + 1, name.size()))},
            {"pid", std::to_string(pool.process)}};
}

constexpr std::uint64_t nanoseconds_of_second = 1000000000;

constexpr statistics::Metric<PoolSnapshot> metrics[] = {
    {"rpmem_pool_size_bytes", "gauge", "Size of the pool.",
     [](const PoolSnapshot& pool) { return pool.facts.size; }},
    {"rpmem_pool_lanes", "gauge", "Lanes of the pool.",
     [](const PoolSnapshot& pool) { return std::uint64_t{pool.facts.lane_count}; }},
    {"rpmem_pool_session_generation", "gauge", "Number of the session; 0 is the first.",
     [](const PoolSnapshot& pool) { return pool.facts.generation; }},
    {"rpmem_pool_unconfirmed_bytes", "gauge", "Bytes that were flushed and not yet drained.",
     [](const PoolSnapshot& pool) { return pool.unconfirmed_bytes; }},
    {"rpmem_pool_behind_bytes", "gauge", "Bytes of the blocks that the target lacks.",
     [](const PoolSnapshot& pool) { return pool.facts.behind_bytes; }},
    {"rpmem_pool_catch_up_bytes_per_second", "gauge",
     "What the target is sent while it catches up.",
     [](const PoolSnapshot& pool) { return pool.facts.catch_up_rate; }},
    {"rpmem_pool_outpaced", "gauge", "1 while the program writes as fast as the target catches up.",
     [](const PoolSnapshot& pool) { return pool.facts.is_outpaced; }},
    {"rpmem_pool_last_join_seconds", "gauge",
     "When the target was last in sync again, in seconds since the epoch; 0: never.",
     [](const PoolSnapshot& pool) { return pool.facts.last_join / nanoseconds_of_second; }},
    {"rpmem_pool_state_since_seconds", "gauge", "When the state began, in seconds since the epoch.",
     [](const PoolSnapshot& pool) { return pool.facts.state_since / nanoseconds_of_second; }},
    {"rpmem_pool_reconnects_total", "counter", "Sessions that took the place of a lost one.",
     [](const PoolSnapshot& pool) { return pool.facts.reconnects; }},
    {"rpmem_pool_replayed_bytes_total", "counter", "Bytes that were sent again after a loss.",
     [](const PoolSnapshot& pool) { return pool.facts.replayed_bytes; }},
    {"rpmem_pool_waits_total", "counter", "Waits until the target had room for more.",
     [](const PoolSnapshot& pool) { return pool.waits; }},
};

void add_states(Exposition& exposition, std::span<const PoolSnapshot> pools) {
    exposition.family("rpmem_pool_state", "gauge", "1 for the state of the link.");
    for (const PoolSnapshot& pool : pools)
        for (std::size_t state = 0; state < link_state_names.size(); ++state)
            exposition.sample(with(labels_of(pool), "state", link_state_names[state]),
                              static_cast<std::size_t>(pool.facts.state) == state);
}

void add_calls(Exposition& exposition, std::span<const PoolSnapshot> pools) {
    exposition.family("rpmem_pool_call_bytes_total", "counter", "Bytes of the ranges of calls.");
    for (const PoolSnapshot& pool : pools)
        for (std::size_t kind = 0; kind < call_kinds; ++kind)
            exposition.sample(with(labels_of(pool), "call", call_names[kind]), pool.of[kind].bytes);
    exposition.family("rpmem_pool_call_duration_seconds", "histogram", "How long calls took.");
    for (const PoolSnapshot& pool : pools)
        for (std::size_t kind = 0; kind < call_kinds; ++kind)
            exposition.histogram(with(labels_of(pool), "call", call_names[kind]), pool.of[kind],
                                 pool.facts.nanoseconds_of_tick);
}

} // namespace

std::string metrics_of(std::span<const PoolSnapshot> all, std::uint64_t now) {
    std::vector<PoolSnapshot> pools;
    std::set<Labels> seen;
    for (const PoolSnapshot& pool : all)
        if (seen.insert(labels_of(pool)).second)
            pools.push_back(pool);
    Exposition exposition;
    exposition.family("rpmem_export_timestamp_seconds", "gauge",
                      "When rpmemctl export wrote this file, in seconds since the epoch.");
    exposition.sample({}, now);
    exposition.add(metrics, pools, labels_of);
    add_states(exposition, pools);
    add_calls(exposition, pools);
    return exposition.text();
}

} // namespace rpmem::ctl
