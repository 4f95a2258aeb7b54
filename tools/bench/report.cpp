#include "tools/bench/report.hpp"

#include "tools/bench/machine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace rpmem::bench {
namespace {

using Json = nlohmann::ordered_json;

double gigabytes_per_second(const Row& row, const Summary& summary) {
    return summary.median > 0 ? static_cast<double>(row.bytes) / summary.median / 1e3 : 0;
}

std::string limit_text(const Row& row, const Comparison& limit) {
    const Summary summary = summarise(limit.rounds);
    const double value = row.bandwidth ? gigabytes_per_second(row, summary) : summary.median;
    std::string text = row.bandwidth ? fmt::format("{} {:.2f} GB/s", limit.name, value)
                                     : fmt::format("{} {:.1f} us", limit.name, value);
    if (!row.ours.empty())
        text += fmt::format(" ({:.2f}x {:.2f}x)", row.share(limit), row.best_share(limit));
    return text;
}

std::string measured_text(const Row& row) {
    const Summary summary = summarise(row.ours);
    if (row.bandwidth)
        return fmt::format("{:.2f} GB/s, CPU {:.2f} + {:.2f} s/GB",
                           gigabytes_per_second(row, summary),
                           summary.own_cpu / static_cast<double>(row.bytes) * 1e3,
                           summary.other_cpu / static_cast<double>(row.bytes) * 1e3);
    std::string text = fmt::format("{:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}", summary.minimum,
                                   summary.median, summary.p99, summary.p99_9);
    text += summary.own_cpu > 0 ? fmt::format(" {:>11.1f} {:>12.1f} {:>8.0f}", summary.own_cpu,
                                              summary.other_cpu, summary.rate)
                                : fmt::format(" {:>11} {:>12} {:>8}", "", "", "");
    return text;
}

void print(const Row& row) {
    std::string line =
        fmt::format("{:<8} {:<8} {:>8} {:>5}  ", row.name, row.variant, size_text(row.bytes),
                    row.lanes ? std::to_string(row.lanes) : "");
    if (!row.ours.empty())
        line += measured_text(row);
    const char* separator = row.ours.empty() ? "" : " | ";
    for (const Comparison& limit : row.limits) {
        line += separator + limit_text(row, limit);
        separator = ", ";
    }
    for (const Fact& fact : row.facts) {
        line += fmt::format("{}{} {:.2f}", separator, fact.name, fact.value);
        separator = ", ";
    }
    fmt::print("{}\n", line);
    (void)std::fflush(stdout);
}

Json to_json(const Row& row, const Rounds& rounds) {
    const Summary summary = summarise(rounds);
    Json json{{"operations", summary.operations},
              {"min_us", summary.minimum},
              {"median_us", summary.median},
              {"best_round_us", summary.best},
              {"p99_us", summary.p99},
              {"p99_9_us", summary.p99_9},
              {"operations_per_second", summary.rate},
              {"cpu_us", summary.own_cpu},
              {"other_side_cpu_us", summary.other_cpu}};
    if (row.bytes != 0)
        json["gigabytes_per_second"] = gigabytes_per_second(row, summary);
    return json;
}

Json to_json(const Row& row) {
    Json json{{"case", row.name}, {"variant", row.variant}};
    if (row.bytes != 0)
        json["bytes"] = row.bytes;
    if (row.lanes != 0)
        json["lanes"] = row.lanes;
    if (!row.ours.empty())
        json["ours"] = to_json(row, row.ours);
    for (const Comparison& limit : row.limits) {
        Json measured = to_json(row, limit.rounds);
        if (!row.ours.empty()) {
            measured["share"] = row.share(limit);
            measured["best_share"] = row.best_share(limit);
            measured["ours_above_us"] = summarise(row.ours).median - summarise(limit.rounds).median;
        }
        json["limits"][limit.name] = std::move(measured);
    }
    for (const Fact& fact : row.facts)
        json[fact.name] = fact.value;
    return json;
}

} // namespace

std::string size_text(std::uint64_t bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
    unsigned unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return bytes == 0 ? "" : fmt::format("{} {}", bytes, units[unit]);
}

void print_machine() {
    for (const auto& [name, text] : describe_machine())
        fmt::print("{}: {}\n", name, text);
    for (const std::string& setting : describe_settings())
        fmt::print("setting: {}\n", setting);
}

void Report::begin() const {
    if (options_.json)
        return;
    print_machine();
    fmt::print("\n{:<8} {:<8} {:>8} {:>5}  {:>9} {:>9} {:>9} {:>9} {:>11} {:>12} {:>8} | {}\n",
               "case", "", "size", "lanes", "min us", "median us", "p99 us", "p99.9 us",
               "CPU here us", "CPU there us", "ops/s",
               "limits (how many times that ours is: median, best round)");
}

void Report::add(Row row) {
    if (!options_.json)
        print(row);
    rows_.push_back(std::move(row));
}

void Report::note(const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) != notes_.end())
        return;
    notes_.push_back(text);
    fmt::print(stderr, "rpmem-bench: note: {}\n", text);
}

Json describe_run(const Options& options) {
    Json json{{"program", "rpmem-bench"}, {"format", 1}};
    for (const auto& [name, text] : describe_machine())
        json["machine"][name] = text;
    json["settings"] = describe_settings();
    json["target"] = options.target;
    json["rounds"] = options.rounds;
    return json;
}

void Report::end() const {
    if (!options_.json)
        return;
    Json json = describe_run(options_);
    json["notes"] = notes_;
    json["rows"] = Json::array();
    for (const Row& row : rows_)
        json["rows"].push_back(to_json(row));
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

} // namespace rpmem::bench
