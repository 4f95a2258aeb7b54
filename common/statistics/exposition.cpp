// SPDX-License-Identifier: BSD-3-Clause
#include "common/statistics/exposition.hpp"

#include <fmt/format.h>

#include <numeric>

namespace rpmem::statistics {
namespace {

// Upper bounds of the buckets of a histogram, in seconds. They cover RDMA as well as slow disks.
constexpr double bounds[] = {2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2,
                             2e-2, 5e-2, 0.1,  0.2,  0.5,  1,    2,    5,    10,   20,   50,   100};

constexpr double nanoseconds_of_second = 1e9;

std::string escaped(std::string_view value) {
    std::string text;
    for (const char one : value) {
        if (one == '\\' || one == '"')
            text += '\\';
        text += one == '\n' ? ' ' : one;
    }
    return text;
}

} // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
    family_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
    text_ += family_;
    text_ += suffix;
    char before = '{';
    for (const auto& [name, word] : labels) {
        text_ += fmt::format("{}{}=\"{}\"", before, name, escaped(word));
        before = ',';
    }
    text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

void Exposition::sample(const Labels& labels, std::uint64_t value) {
    line("", labels, fmt::format("{}", value));
}

void Exposition::histogram(const Labels& labels, const CallTotals& totals,
                           double nanoseconds_of_tick) {
    const double seconds_of_tick = nanoseconds_of_tick / nanoseconds_of_second;
    std::size_t bucket = 0;
    std::uint64_t calls = 0;
    Labels with_bound = labels;
    with_bound.emplace_back("le", "");
    for (const double bound : bounds) {
        while (bucket < buckets &&
               static_cast<double>(min_of(bucket + 1)) * seconds_of_tick <= bound)
            calls += totals.calls[bucket++];
        with_bound.back().second = fmt::format("{}", bound);
        line("_bucket", with_bound, fmt::format("{}", calls));
    }
    calls = std::accumulate(totals.calls.begin(), totals.calls.end(), std::uint64_t{0});
    with_bound.back().second = "+Inf";
    line("_bucket", with_bound, fmt::format("{}", calls));
    line("_sum", labels, fmt::format("{}", static_cast<double>(totals.ticks) * seconds_of_tick));
    line("_count", labels, fmt::format("{}", calls));
}

} // namespace rpmem::statistics
