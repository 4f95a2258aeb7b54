// SPDX-License-Identifier: BSD-3-Clause
// Writes metrics in the text format of Prometheus, for the textfile collector of its node exporter.
#pragma once

#include "common/statistics/call_totals.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rpmem::statistics {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

[[nodiscard]] inline Labels with(Labels labels, std::string_view name, std::string_view value) {
    labels.emplace_back(name, value);
    return labels;
}

// A metric family with one sample for each OWNER, a pool or a session.
template <typename Owner>
struct Metric {
    const char* name;
    const char* type;
    const char* help;
    std::uint64_t (*of)(const Owner& owner);
};

class Exposition {
public:
    // Begins the family NAME, to which the following samples belong. TYPE is counter, gauge or
    // histogram.
    void family(std::string_view name, std::string_view type, std::string_view help);
    void sample(const Labels& labels, std::uint64_t value);
    void histogram(const Labels& labels, const CallTotals& totals, double nanoseconds_of_tick);
    // Writes a family for each of METRICS.
    template <typename Metrics, typename Owners, typename LabelsOf>
    void add(const Metrics& metrics, const Owners& owners, LabelsOf labels_of) {
        for (const auto& [name, type, help, of] : metrics) {
            family(name, type, help);
            for (const auto& owner : owners)
                sample(labels_of(owner), of(owner));
        }
    }

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    void line(std::string_view suffix, const Labels& labels, std::string_view value);

    std::string family_;
    std::string text_;
};

} // namespace rpmem::statistics
