// SPDX-License-Identifier: BSD-3-Clause
// Metrics in the text format of Prometheus, for the textfile collector of its node exporter.
#pragma once

#include "common/base/result.hpp"
#include "common/statistics/latency.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rpmem::statistics {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

class Exposition {
public:
    // The samples that follow are NAME's. TYPE: counter, gauge or histogram.
    void family(std::string_view name, std::string_view type, std::string_view help);
    void sample(const Labels& labels, std::uint64_t value);
    // COUNTS, and all calls together took TOTAL_TICKS.
    void histogram(const Labels& labels, const Counts& counts, std::uint64_t total_ticks,
                   double nanoseconds_of_tick);

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    void line(std::string_view suffix, const Labels& labels, std::string_view value);

    std::string family_;
    std::string text_;
};

// A reader of DIRECTORY/NAME sees the old text or TEXT, whole.
[[nodiscard]] Result<> replace_file(const std::string& directory, const std::string& name,
                                    std::string_view text);

} // namespace rpmem::statistics
