#include "tools/bench/measuring.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace rpmem::bench {
namespace {

// VALUES in order, not empty.
double quantile(const std::vector<std::uint64_t>& values, double part) {
    const double rank = std::ceil(part * static_cast<double>(values.size()));
    return static_cast<double>(values[static_cast<std::size_t>(rank) - 1]) / 1e3;
}

} // namespace

Nanoseconds own_cpu_time() {
    timespec now{};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

Round summarise(const std::vector<Samples>& of_each, Nanoseconds cpu) {
    std::vector<std::uint64_t> all;
    Nanoseconds elapsed{}; // of the slowest thread
    for (const Samples& samples : of_each) {
        all.insert(all.end(), samples.nanoseconds.begin(), samples.nanoseconds.end());
        elapsed = std::max(elapsed, samples.elapsed);
    }
    if (all.empty())
        return {};
    std::sort(all.begin(), all.end());
    const double microseconds = 1e3 * static_cast<double>(all.size());
    return {.time = of_each.size() == 1 ? quantile(all, 0.5)
                                        : static_cast<double>(elapsed.count()) / microseconds,
            .p99 = quantile(all, 0.99),
            .cpu = static_cast<double>(cpu.count()) / microseconds};
}

} // namespace rpmem::bench
