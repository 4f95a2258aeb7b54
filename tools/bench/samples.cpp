#include "tools/bench/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rpmem::bench {
namespace {

// VALUES in order, not empty.
double quantile(const std::vector<std::uint64_t>& values, double part) {
    const double rank = std::ceil(part * static_cast<double>(values.size()));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    return static_cast<double>(values[std::min(index, values.size() - 1)]) / 1e3;
}

double median_of_round(const Samples& samples) {
    std::vector<std::uint64_t> values = samples.nanoseconds;
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

double rate_of(const Samples& samples) {
    const double seconds = std::chrono::duration<double>(samples.elapsed).count();
    return seconds > 0 ? static_cast<double>(samples.nanoseconds.size()) / seconds : 0;
}

template <typename Value>
std::vector<double> of_each(const Rounds& rounds, Value value) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const Samples& samples : rounds)
        if (!samples.nanoseconds.empty())
            values.push_back(value(samples));
    return values;
}

template <typename Value>
double median_quotient(const Rounds& above, const Rounds& below, Value value) {
    std::vector<double> quotients;
    for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i)
        if (const double divisor = value(below[i]); divisor > 0)
            quotients.push_back(value(above[i]) / divisor);
    return median(std::move(quotients));
}

} // namespace

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Summary summarise(const Rounds& rounds) {
    Summary summary;
    std::vector<std::uint64_t> all;
    Nanoseconds own{};
    Nanoseconds other{};
    for (const Samples& samples : rounds) {
        all.insert(all.end(), samples.nanoseconds.begin(), samples.nanoseconds.end());
        own += samples.own_cpu;
        other += samples.other_cpu;
    }
    if (all.empty())
        return summary;
    std::sort(all.begin(), all.end());
    const auto count = static_cast<double>(all.size());
    summary.operations = all.size();
    summary.minimum = static_cast<double>(all.front()) / 1e3;
    const std::vector<double> medians = of_each(rounds, median_of_round);
    summary.median = median(medians);
    summary.best = *std::min_element(medians.begin(), medians.end());
    summary.p99 = quantile(all, 0.99);
    summary.p99_9 = quantile(all, 0.999);
    const std::vector<double> rates = of_each(rounds, rate_of);
    summary.rate = median(rates);
    summary.best_rate = *std::max_element(rates.begin(), rates.end());
    summary.own_cpu = static_cast<double>(own.count()) / 1e3 / count;
    summary.other_cpu = static_cast<double>(other.count()) / 1e3 / count;
    return summary;
}

double share_by_median(const Rounds& ours, const Rounds& limit) {
    return median_quotient(ours, limit, median_of_round);
}

double share_by_rate(const Rounds& ours, const Rounds& limit) {
    return median_quotient(limit, ours, rate_of);
}

double median_above(const Rounds& ours, const Rounds& limit) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::min(ours.size(), limit.size()); ++i)
        differences.push_back(median_of_round(ours[i]) - median_of_round(limit[i]));
    return median(std::move(differences));
}

} // namespace rpmem::bench
