// SPDX-License-Identifier: BSD-3-Clause
// Tests metrics_of(), the text that `rpmemctl export` writes for Prometheus, and summarize(), with
// invented counters. The test fails if a sample has another name, label or value, if times are not
// converted from ticks, if the time of the export is missing, or if a program can spoil the whole
// file by the name of its pool.
#include "tests/support/expect.hpp"
#include "tools/ctl/prometheus.hpp"

#include <map>
#include <sstream>

namespace rpmem::ctl {
namespace {

using initiator::CallKind;
using initiator::CallSummary;
using initiator::CallTotals;
using initiator::LinkState;
using initiator::PoolSnapshot;
using initiator::put_text;

PoolSnapshot some_pool() {
    PoolSnapshot pool{.process = 7, .facts = {}, .of = {}};
    put_text(pool.facts.name, "user@[fe80::1]:22:a \"b\".set");
    pool.facts.nanoseconds_of_tick = 2;
    pool.facts.state = LinkState::reconnecting;
    pool.facts.reconnects = 3;
    pool.facts.behind_bytes = 65536;
    pool.facts.catch_up_rate = 4096;
    pool.facts.is_outpaced = 1;
    pool.facts.last_join = 1500000000123456789;
    pool.facts.state_since = 1600000000123456789;
    pool.unconfirmed_bytes = 5;
    CallTotals& persists = pool.of[static_cast<unsigned>(CallKind::persist)];
    persists.bytes = 640;
    persists.ticks = 1000000;                           // 2 ms
    persists.calls[statistics::bucket_of(1000)] = 9;    // 2 us
    persists.calls[statistics::bucket_of(1000000)] = 1; // 2 ms
    return pool;
}

// Returns the samples by name and labels.
std::map<std::string, double> samples_of(const std::string& text) {
    std::map<std::string, double> samples;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (!line.starts_with('#'))
            samples[line.substr(0, line.rfind(' '))] = std::stod(line.substr(line.rfind(' ')));
    return samples;
}

constexpr std::uint64_t now = 1700000000;
constexpr const char* pool_labels = R"(target="user@[fe80::1]:22",pool_set="a \"b\".set",pid="7")";

TEST(Metrics, SayWhatWasCounted) {
    const auto samples = samples_of(metrics_of(std::vector{some_pool()}, now));
    const auto of = [&](const std::string& name, const std::string& more) {
        const auto found = samples.find(name + "{" + pool_labels + more + "}");
        return found == samples.end() ? -1 : found->second;
    };
    EXPECT_EQ(of("rpmem_pool_reconnects_total", ""), 3);
    EXPECT_EQ(of("rpmem_pool_unconfirmed_bytes", ""), 5);
    EXPECT_EQ(of("rpmem_pool_behind_bytes", ""), 65536);
    EXPECT_EQ(of("rpmem_pool_catch_up_bytes_per_second", ""), 4096);
    EXPECT_EQ(of("rpmem_pool_outpaced", ""), 1);
    EXPECT_EQ(of("rpmem_pool_last_join_seconds", ""), 1500000000);
    EXPECT_EQ(of("rpmem_pool_state_since_seconds", ""), 1600000000);
    EXPECT_EQ(of("rpmem_pool_state", R"(,state="reconnecting")"), 1);
    EXPECT_EQ(of("rpmem_pool_state", R"(,state="connected")"), 0);
    EXPECT_EQ(of("rpmem_pool_call_bytes_total", R"(,call="persist")"), 640);
    const std::string calls = "rpmem_pool_call_duration_seconds";
    EXPECT_EQ(of(calls + "_bucket", R"(,call="persist",le="1e-05")"), 9);
    EXPECT_EQ(of(calls + "_bucket", R"(,call="persist",le="0.001")"), 9);
    EXPECT_EQ(of(calls + "_bucket", R"(,call="persist",le="0.005")"), 10);
    EXPECT_EQ(of(calls + "_bucket", R"(,call="persist",le="+Inf")"), 10);
    EXPECT_EQ(of(calls + "_count", R"(,call="persist")"), 10);
    EXPECT_NEAR(of(calls + "_sum", R"(,call="persist")"), 0.002, 1e-9);
    EXPECT_EQ(of(calls + "_count", R"(,call="read")"), 0);
}

// An exporter that is killed leaves its file. The time in it shows that it is stale.
TEST(Metrics, SayWhenTheyWereWritten) {
    EXPECT_EQ(samples_of(metrics_of({}, now)).at("rpmem_export_timestamp_seconds"), now);
}

// Prometheus rejects the whole file if one sample is duplicate or not UTF-8.
TEST(Metrics, OfAHostileProgramDoNotSpoilTheOthers) {
    PoolSnapshot hostile = some_pool();
    hostile.facts.reconnects = 9;
    PoolSnapshot binary = some_pool();
    put_text(binary.facts.name, "t:\xff\n.set");
    const std::string text = metrics_of(std::vector{some_pool(), hostile, binary}, now);
    EXPECT_EQ(samples_of(text).at(std::string("rpmem_pool_reconnects_total{") + pool_labels + "}"),
              3);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    std::size_t families = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        families += line.starts_with("rpmem_pool_reconnects_total{") ? 1 : 0;
    EXPECT_EQ(families, 2);
}

TEST(Summary, IsInNanoseconds) {
    const CallSummary persists = summarize(some_pool(), CallKind::persist);
    EXPECT_EQ(persists.calls, 10);
    EXPECT_GE(persists.p50, 2000);
    EXPECT_LE(persists.p50, 2250);
    EXPECT_GE(persists.max, 2000000);
    EXPECT_LE(persists.max, 2250000);
    EXPECT_EQ(persists.total, 2000000);
}

} // namespace
} // namespace rpmem::ctl
