// SPDX-License-Identifier: BSD-3-Clause
// A report of --json as values.
#pragma once

#include "tools/bench/measuring.hpp"
#include "tools/bench/messages.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rpmem::bench {

// An operation of one size on so many lanes; times in microseconds.
struct MeasuredRow {
    std::string operation; // "persist/strict"
    std::uint64_t size = 0;
    unsigned lanes = 0;
    double time = 0;
    double rate = 0; // 10^9 bytes a second
    // Of raw TCP, and how many times that ours is; 0: it was not measured.
    double tcp = 0;
    double times_tcp = 0;
    std::optional<Quantiles> quantiles; // reports of earlier versions have none
};

struct Measured {
    using Text = std::pair<std::string, std::string>;

    std::vector<Text> context;
    std::vector<MeasuredRow> rows;
    std::vector<Text> others; // rows of another kind: a name, and what is told of it

    [[nodiscard]] const MeasuredRow* find(const std::string& operation, std::uint64_t size,
                                          unsigned lanes) const;
    // Of all rows, each once: operations as they come, numbers from the least on.
    [[nodiscard]] std::vector<std::string> operations() const;
    [[nodiscard]] std::vector<std::uint64_t> sizes() const;
    [[nodiscard]] std::vector<unsigned> lanes() const;
};

// Rows that are not what rpmem-bench writes are left out.
[[nodiscard]] Measured measured(const Json& report);
// A file that has one. An error names it.
[[nodiscard]] Result<Json> read_report(const std::string& path);

} // namespace rpmem::bench
