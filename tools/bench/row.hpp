// A line of the result: ours, the limits measured in turn with it, and facts.
#pragma once

#include "tools/bench/samples.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rpmem::bench {

struct Comparison {
    std::string name;
    Rounds rounds;
};

struct Fact {
    std::string name; // the unit is its last word: target_cpu_ms
    double value = 0;
};

struct Row {
    std::string name; // of the case
    std::string variant;
    std::uint64_t bytes = 0; // of one operation; 0: it has no size
    unsigned lanes = 0;
    bool bandwidth = false; // bytes per second say more than the time
    Rounds ours{};
    std::vector<Comparison> limits{};
    std::vector<Fact> facts{};

    // How many times the limit's time ours takes; for bandwidth what part of the limit's it has.
    [[nodiscard]] double share(const Comparison& limit) const {
        if (bandwidth)
            return share_by_median(limit.rounds, ours);
        return lanes > 1 ? share_by_rate(ours, limit.rounds) : share_by_median(ours, limit.rounds);
    }
    // The same of the best rounds.
    [[nodiscard]] double best_share(const Comparison& limit) const {
        const Summary us = summarise(ours);
        const Summary it = summarise(limit.rounds);
        if (bandwidth)
            return it.best / us.best;
        return lanes > 1 ? it.best_rate / us.best_rate : us.best / it.best;
    }
};

} // namespace rpmem::bench
