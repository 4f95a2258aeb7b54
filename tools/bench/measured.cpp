// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/measured.hpp"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <set>

namespace rpmem::bench {
namespace {

// Nothing that was ever measured is beyond these; a scale that is not bounded has no end of marks.
constexpr double min_figure = 1e-9;
constexpr double largest_figure = 1e15;

// 0 if there is none that can be drawn.
double number(const Json& row, const char* name) {
    const auto found = row.find(name);
    if (found == row.end() || !found->is_number())
        return 0;
    const auto value = found->get<double>();
    return value >= min_figure && value <= largest_figure ? value : 0;
}

std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<Quantiles> quantiles_of(const Json& row) {
    Quantiles result{};
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
        result[i] = number(row, quantiles[i].name);
        if (result[i] == 0)
            return {};
    }
    return result;
}

// Google Benchmark's text on every row is of no interest here.
std::string told(const Json& row) {
    static const std::set<std::string> common{
        "family_index", "per_family_instance_index", "repetitions",   "threads",
        "iterations",   "repetition_index",          "aggregate_unit"};
    std::string result;
    for (const auto& [name, value] : row.items())
        if (value.is_number() && !common.contains(name))
            result +=
                fmt::format("{}{} {:.4g}", result.empty() ? "" : ", ", name, value.get<double>());
    return result;
}

template <typename Value, typename Project>
std::vector<Value> each_once(const std::vector<MeasuredRow>& rows, Project project) {
    std::set<Value> values;
    for (const MeasuredRow& row : rows)
        values.insert(project(row));
    return {values.begin(), values.end()};
}

} // namespace

const MeasuredRow* Measured::find(const std::string& operation, std::uint64_t size,
                                  unsigned lanes) const {
    for (const MeasuredRow& row : rows)
        if (row.operation == operation && row.size == size && row.lanes == lanes)
            return &row;
    return nullptr;
}

std::vector<std::string> Measured::operations() const {
    std::vector<std::string> result;
    for (const MeasuredRow& row : rows)
        if (std::find(result.begin(), result.end(), row.operation) == result.end())
            result.push_back(row.operation);
    return result;
}

std::vector<std::uint64_t> Measured::sizes() const {
    return each_once<std::uint64_t>(rows, [](const MeasuredRow& row) { return row.size; });
}

std::vector<unsigned> Measured::lanes() const {
    return each_once<unsigned>(rows, [](const MeasuredRow& row) { return row.lanes; });
}

Measured measured(const Json& report) {
    static const std::regex operation_name("([a-z_/]{1,40})/([0-9]{1,10})/lanes:([0-9]{1,4})");
    Measured result;
    const Json context = report.value("context", Json::object());
    for (const auto& [name, value] : context.items())
        if (!value.is_structured())
            result.context.emplace_back(name, text(value));
    const Json rows = report.value("benchmarks", Json::array());
    for (const Json& row : rows) {
        if (!row.is_object())
            continue;
        const std::string name = row.contains("run_name") ? text(row["run_name"]) : "";
        std::smatch parts;
        const double time = number(row, "real_time");
        const double rate = number(row, "gigabytes_per_second");
        if (rate == 0 || time == 0 || !std::regex_match(name, parts, operation_name)) {
            result.others.emplace_back(name, told(row));
            continue;
        }
        result.rows.push_back({.operation = parts[1],
                               .size = std::stoull(parts[2]),
                               .lanes = static_cast<unsigned>(std::stoul(parts[3])),
                               .time = time,
                               .rate = rate,
                               .tcp = number(row, "tcp_us"),
                               .times_tcp = number(row, "times_tcp"),
                               .quantiles = quantiles_of(row)});
    }
    return result;
}

Result<Json> read_report(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot open {}", path);
    Json report = Json::parse(file, nullptr, false);
    if (!report.is_object() || !report.contains("benchmarks") || !report["benchmarks"].is_array() ||
        !report.value("context", Json::object()).is_object())
        return invalid("{} is no report: rpmem-bench --json prints one", path);
    return report;
}

} // namespace rpmem::bench
