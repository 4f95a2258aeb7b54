// The rows of --table: what is measured, and what is allowed.
#pragma once

#include "tools/bench/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::bench {

// One figure of a row of a report.
struct Line {
    std::string name; // of the case
    std::string variant{};
    std::uint64_t bytes = 0;
    unsigned lanes = 1;
    // What the figure is compared with; of several, the one that is hardest to reach. None: it is
    // absolute.
    std::vector<std::string> limits{};
    std::string figure; // where it is in the row, a pointer of JSON; "share": of the limit
    std::string unit;
    std::optional<double> allowed{}; // without it the figure is told, and not judged
    bool at_least = false;
    std::string remark{};
};

// Lines that are measured in the same run of this program.
struct Group {
    std::vector<std::string> options;
    std::vector<Line> lines;
    bool encrypted = false;
};

[[nodiscard]] std::vector<Group> table_groups(const Options& options);

} // namespace rpmem::bench
