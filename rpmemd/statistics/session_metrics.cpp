// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/statistics/session_metrics.hpp"

#include "common/statistics/exposition.hpp"

namespace rpmem::target {
namespace {

using statistics::CallTotals;
using statistics::Exposition;
using statistics::Labels;
using statistics::with;

struct RequestTotals {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
};

// The sums over all workers.
struct SessionTotals {
    const SessionFacts& facts;
    std::array<RequestTotals, request_names.size()> requests{};
    std::array<CallTotals, medium_call_names.size()> medium{};
    std::uint64_t acknowledgements = 0;
    std::uint64_t lanes = 0;
    std::uint64_t ended_lanes = 0;
    std::uint64_t failures = 0;
};

void add_to(CallTotals& totals, const MediumCounters& counters) {
    totals.bytes += counters.bytes.value();
    totals.ticks += counters.ticks.value();
    for (std::size_t bucket = 0; bucket < statistics::buckets; ++bucket)
        totals.calls[bucket] += counters.calls[bucket].value();
}

SessionTotals totals_of(const SessionFacts& facts, AllCounters workers) {
    SessionTotals totals{.facts = facts};
    for (const auto& worker : workers) {
        for (std::size_t kind = 0; kind < request_names.size(); ++kind) {
            totals.requests[kind].requests += worker->requests[kind].requests.value();
            totals.requests[kind].bytes += worker->requests[kind].bytes.value();
        }
        for (std::size_t call = 0; call < medium_call_names.size(); ++call)
            add_to(totals.medium[call], worker->medium[call]);
        totals.acknowledgements += worker->acknowledgements.value();
        totals.lanes += worker->lanes.value();
        totals.ended_lanes += worker->ended_lanes.value();
        totals.failures += worker->failures.value();
    }
    return totals;
}

// The labels include the process. Several sessions may read one pool, and Prometheus rejects two
// samples with the same labels.
Labels labels_of_session(const SessionTotals& totals) {
    Labels labels{{"pool_set", totals.facts.pool_set}};
    if (!totals.facts.initiator.empty())
        labels.emplace_back("initiator", totals.facts.initiator);
    return with(std::move(labels), "pid", std::to_string(totals.facts.process));
}

constexpr statistics::Metric<SessionTotals> session_metrics[] = {
    {"rpmemd_session_start_time_seconds", "gauge", "Start of the session, since 1970.",
     [](const SessionTotals& session) { return session.facts.began; }},
    {"rpmemd_session_pool_size_bytes", "gauge", "Size of the pool.",
     [](const SessionTotals& session) { return session.facts.pool_size; }},
    {"rpmemd_session_lanes", "gauge", "Lanes that are connected.",
     [](const SessionTotals& session) { return session.lanes; }},
    {"rpmemd_session_ended_lanes_total", "counter", "Lanes that have ended, for any reason.",
     [](const SessionTotals& session) { return session.ended_lanes; }},
    {"rpmemd_session_failures_total", "counter",
     "Lanes on which the medium failed or the initiator violated the protocol.",
     [](const SessionTotals& session) { return session.failures; }},
    {"rpmemd_session_acknowledgements_total", "counter", "Acknowledgements sent.",
     [](const SessionTotals& session) { return session.acknowledgements; }},
};

void add_requests(Exposition& exposition, const SessionTotals& totals) {
    const auto add = [&](const char* name, const char* help, std::uint64_t RequestTotals::*of) {
        exposition.family(name, "counter", help);
        for (std::size_t kind = 0; kind < request_names.size(); ++kind)
            exposition.sample(with(labels_of_session(totals), "request", request_names[kind]),
                              totals.requests[kind].*of);
    };
    add("rpmemd_session_requests_total", "Requests received on the lanes.",
        &RequestTotals::requests);
    add("rpmemd_session_request_bytes_total", "Bytes of the ranges of requests.",
        &RequestTotals::bytes);
}

void add_medium(Exposition& exposition, const SessionTotals& totals, double nanoseconds_of_tick) {
    const auto labels = [&](std::size_t call) {
        return with(labels_of_session(totals), "call", medium_call_names[call]);
    };
    exposition.family("rpmemd_session_durable_bytes_total", "counter",
                      "Bytes that were made durable.");
    for (std::size_t call = 0; call < medium_call_names.size(); ++call)
        exposition.sample(labels(call), totals.medium[call].bytes);
    exposition.family("rpmemd_session_durable_duration_seconds", "histogram",
                      "Time to make a range durable.");
    for (std::size_t call = 0; call < medium_call_names.size(); ++call)
        exposition.histogram(labels(call), totals.medium[call], nanoseconds_of_tick);
}

} // namespace

std::string metrics_of(const SessionFacts& facts, AllCounters workers, double nanoseconds_of_tick) {
    const SessionTotals totals = totals_of(facts, workers);
    Exposition exposition;
    exposition.add(session_metrics, std::span(&totals, 1), labels_of_session);
    add_requests(exposition, totals);
    add_medium(exposition, totals, nanoseconds_of_tick);
    return exposition.text();
}

} // namespace rpmem::target
