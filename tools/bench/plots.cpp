// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace rpmem::bench {
namespace {

constexpr unsigned limit_style = 6; // grey
constexpr std::size_t max_lines = 6;
constexpr const char* size_axis = "size of one operation";
constexpr const char* dashed_lines = "dashed: other report";
constexpr const char* lanes_axis = "lanes, each with a thread";

// In the order of `quantiles`.
enum { min_at, lower_at, median_at, upper_at, ninety_at, almost_all_at, all_but_a_few_at };

std::vector<std::string> names_of_sizes(const Measured& ours) {
    std::vector<std::string> names;
    for (const std::uint64_t size : ours.sizes())
        names.push_back(size_text(size));
    return names;
}

std::vector<std::string> names_of_lanes(const Measured& ours) {
    std::vector<std::string> names;
    for (const unsigned lanes : ours.lanes())
        names.push_back(std::to_string(lanes));
    return names;
}

std::string where(const MeasuredRow& row) {
    return fmt::format("{}, {}, {} {}", row.operation, size_text(row.size), row.lanes,
                       row.lanes == 1 ? "lane" : "lanes");
}

// Of what is on the horizontal axis: a row of a report, or none.
using Find = std::function<const MeasuredRow*(std::size_t place)>;
using Value = std::function<double(const MeasuredRow&)>;

std::vector<Point> points(std::size_t places, const Find& find, const Value& value,
                          const char* unit) {
    std::vector<Point> result;
    for (std::size_t place = 0; place < places; ++place)
        if (const MeasuredRow* const row = find(place))
            if (const double number = value(*row); number > 0)
                result.push_back(
                    {place, number, fmt::format("{}: {:.4g} {}", where(*row), number, unit)});
    return result;
}

Box box_of(std::size_t place, const MeasuredRow& row) {
    const Quantiles& q = *row.quantiles;
    return {.place = place,
            .values = {q[min_at], q[lower_at], q[median_at], q[upper_at], q[almost_all_at]},
            .tip = fmt::format("{}: median {:.4g} µs, half of them {:.4g} to {:.4g}, least {:.4g}, "
                               "99 % up to {:.4g}, 99.9 % up to {:.4g} µs",
                               where(row), q[median_at], q[lower_at], q[upper_at], q[min_at],
                               q[almost_all_at], q[all_but_a_few_at])};
}

// A box where quantiles are known, a point for the median elsewhere.
Series latencies(const std::string& name, unsigned style, const Measured& report,
                 const std::vector<std::uint64_t>& sizes, const std::string& operation,
                 unsigned lanes) {
    Series series{.name = name, .style = style};
    for (std::size_t place = 0; place < sizes.size(); ++place) {
        const MeasuredRow* const row = report.find(operation, sizes[place], lanes);
        if (row != nullptr && row->quantiles)
            series.boxes.push_back(box_of(place, *row));
        else if (row != nullptr)
            series.points.push_back(
                {place, row->time, fmt::format("{}: median {:.4g} µs", where(*row), row->time)});
    }
    return series;
}

// No more lines than can be told apart: the least, the largest, and some between.
std::vector<std::uint64_t> some_of(const std::vector<std::uint64_t>& sizes) {
    if (sizes.size() <= max_lines)
        return sizes;
    std::vector<std::uint64_t> result;
    for (std::size_t i = 0; i < max_lines; ++i)
        result.push_back(sizes[i * (sizes.size() - 1) / (max_lines - 1)]);
    return result;
}

// A line for each operation of OURS, and beside it, dashed, that of OTHER.
std::vector<Series> line_each(
    const Measured& ours, const Measured* other, std::size_t places,
    const std::function<const MeasuredRow*(const Measured&, const std::string&, std::size_t)>& find,
    const Value& value, const char* unit) {
    std::vector<Series> result;
    unsigned style = 0;
    for (const std::string& operation : ours.operations()) {
        for (const Measured* const report : {&ours, other}) {
            if (report == nullptr)
                continue;
            Series series{
                .name = operation, .style = style % limit_style, .dashed = report == other};
            series.points = points(
                places, [&](std::size_t place) { return find(*report, operation, place); }, value,
                unit);
            if (!series.points.empty())
                result.push_back(std::move(series));
        }
        ++style;
    }
    return result;
}

// Both charts of a quotient, whose middle is 1.
std::vector<Chart> quotient_charts(const Chart& common, const Measured& ours, const Measured* other,
                                   const Value& value) {
    const std::vector<std::uint64_t> sizes = ours.sizes();
    const std::vector<unsigned> lanes = ours.lanes();
    if (sizes.empty())
        return {};
    const std::uint64_t middle =
        std::ranges::find(sizes, 4096U) != sizes.end() ? 4096U : sizes[sizes.size() / 2];
    Chart by_size = common;
    by_size.title +=
        fmt::format(", by size, on {} {}", lanes.front(), lanes.front() == 1 ? "lane" : "lanes");
    by_size.across = size_axis;
    by_size.places = names_of_sizes(ours);
    by_size.series = line_each(
        ours, other, sizes.size(),
        [&](const Measured& report, const std::string& operation, std::size_t place) {
            return report.find(operation, sizes[place], lanes.front());
        },
        value, "times");
    Chart by_lanes = common;
    by_lanes.title += fmt::format(", by lanes, {}", size_text(middle));
    by_lanes.across = lanes_axis;
    by_lanes.places = names_of_lanes(ours);
    by_lanes.series = line_each(
        ours, other, lanes.size(),
        [&](const Measured& report, const std::string& operation, std::size_t place) {
            return report.find(operation, middle, lanes[place]);
        },
        value, "times");
    return {by_size, by_lanes};
}

} // namespace

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kibi = 1024;
    if (bytes >= kibi * kibi && bytes % (kibi * kibi) == 0)
        return fmt::format("{} MiB", bytes / kibi / kibi);
    if (bytes >= kibi && bytes % kibi == 0)
        return fmt::format("{} KiB", bytes / kibi);
    return fmt::format("{} B", bytes);
}

std::vector<Chart> latency_charts(const Measured& ours, const Measured* other) {
    std::vector<Chart> charts;
    if (ours.rows.empty())
        return charts;
    const std::vector<std::uint64_t> sizes = ours.sizes();
    const unsigned lanes = ours.lanes().front();
    for (const std::string& operation : ours.operations()) {
        Chart chart{.title = operation,
                    .description = "Time of one operation by its size. Boxes have half of the "
                                   "operations, whiskers reach from the least to 99 %.",
                    .across = size_axis,
                    .upwards = "time of one operation, µs",
                    .places = names_of_sizes(ours)};
        chart.series.push_back(latencies("this report", 0, ours, sizes, operation, lanes));
        if (other != nullptr)
            chart.series.push_back(latencies("other report", 1, *other, sizes, operation, lanes));
        const auto find = [&](std::size_t place) {
            return ours.find(operation, sizes[place], lanes);
        };
        chart.series.push_back(
            {.name = "raw TCP, median",
             .style = limit_style,
             .points = points(
                 sizes.size(), find, [](const MeasuredRow& row) { return row.tcp; },
                 "µs by raw TCP")});
        std::erase_if(chart.series, [](const Series& series) {
            return series.points.empty() && series.boxes.empty();
        });
        charts.push_back(std::move(chart));
    }
    return charts;
}

std::vector<Chart> throughput_charts(const Measured& ours, const Measured* other) {
    std::vector<Chart> charts;
    const std::vector<unsigned> lanes = ours.lanes();
    for (const std::string& operation : ours.operations()) {
        Chart chart{.title = operation,
                    .description = "Throughput of all lanes together by their number; a line for "
                                   "each size of an operation.",
                    .across = lanes_axis,
                    .upwards = "throughput, MB/s (10⁶ bytes a second)",
                    .places = names_of_lanes(ours),
                    .dashed_name = dashed_lines};
        unsigned style = 0;
        for (const std::uint64_t size : some_of(ours.sizes())) {
            for (const Measured* const report : {&ours, other}) {
                if (report == nullptr)
                    continue;
                Series series{.name = size_text(size), .style = style, .dashed = report == other};
                series.points = points(
                    lanes.size(),
                    [&](std::size_t place) { return report->find(operation, size, lanes[place]); },
                    [](const MeasuredRow& row) { return row.rate * 1e3; }, "MB/s");
                if (!series.points.empty())
                    chart.series.push_back(std::move(series));
            }
            ++style;
        }
        charts.push_back(std::move(chart));
    }
    return charts;
}

std::vector<Chart> limit_charts(const Measured& ours, const Measured* other) {
    const Chart common{.title = "Ours against raw TCP",
                       .description = "How many times as long as raw TCP an operation takes; 1 is "
                                      "the limit of the machine.",
                       .upwards = "our time / time of raw TCP",
                       .reference = 1,
                       .reference_name = "raw TCP",
                       .dashed_name = dashed_lines};
    return quotient_charts(common, ours, other,
                           [](const MeasuredRow& row) { return row.times_tcp; });
}

std::vector<Chart> comparison_charts(const Measured& ours, const Measured& other) {
    const Chart common{.title = "This report against the other",
                       .description = "How many times as long as here an operation takes in the "
                                      "other report; above 1 this report is faster.",
                       .upwards = "time there / time here",
                       .reference = 1,
                       .reference_name = "equally fast"};
    return quotient_charts(common, ours, nullptr, [&](const MeasuredRow& row) {
        const MeasuredRow* const there = other.find(row.operation, row.size, row.lanes);
        return there != nullptr ? there->time / row.time : 0;
    });
}

} // namespace rpmem::bench
