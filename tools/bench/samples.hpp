// What was measured, and the few numbers that stand for it.
#pragma once

#include "tools/bench/clock.hpp"

#include <cstdint>
#include <vector>

namespace rpmem::bench {

// One measurement: how long each operation took.
struct Samples {
    std::vector<std::uint64_t> nanoseconds; // of one operation each, of all threads
    Nanoseconds elapsed{};
    Nanoseconds own_cpu{};   // on the side that asks
    Nanoseconds other_cpu{}; // on the side that answers
};

// The same, in several rounds with other measurements in between.
using Rounds = std::vector<Samples>;

struct Summary {
    std::uint64_t operations = 0;
    double minimum = 0; // microseconds, as all times here
    double median = 0;  // of the medians of the rounds
    double best = 0;    // the lowest median of a round: when nobody disturbed
    double p99 = 0;
    double p99_9 = 0;
    double rate = 0; // operations per second, of the middle round
    double best_rate = 0;
    double own_cpu = 0;
    double other_cpu = 0; // per operation
};

// 0 for no values.
[[nodiscard]] double median(std::vector<double> values);

[[nodiscard]] Summary summarise(const Rounds& rounds);

// How many times the time of the limit ours takes: the median of what the rounds say, each of
// which had both under the same conditions.
[[nodiscard]] double share_by_median(const Rounds& ours, const Rounds& limit);
[[nodiscard]] double share_by_rate(const Rounds& ours, const Rounds& limit);
// How many microseconds it takes longer.
[[nodiscard]] double median_above(const Rounds& ours, const Rounds& limit);

} // namespace rpmem::bench
