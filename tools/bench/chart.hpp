// SPDX-License-Identifier: BSD-3-Clause
// A chart as SVG: named places from left to right, and numbers on a logarithmic scale upwards. It
// needs no script and nothing from elsewhere; all that it shows has a text, too.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::bench {

// So that it stands for itself in HTML and in XML.
[[nodiscard]] std::string escaped(std::string_view text);

struct Point {
    std::size_t place = 0; // index of the name on the horizontal axis
    double value = 0;
    std::string tip; // shown to a pointer over it
};

struct Box {
    std::size_t place = 0;
    // Whisker, lower edge, line, upper edge, whisker.
    std::array<double, 5> values{};
    std::string tip;
};

// Points are joined by a line, in a colour and with a mark by STYLE. Boxes stand beside each other.
struct Series {
    std::string name;
    unsigned style = 0;
    bool dashed = false; // with a hollow mark; the legend tells of all such lines at once
    std::vector<Point> points{};
    std::vector<Box> boxes{};
};

struct Chart {
    std::string title;
    std::string description; // for those who do not see it
    std::string across{};    // the titles of the axes, with the unit
    std::string upwards;
    std::vector<std::string> places{};
    std::optional<double> reference{}; // a line through all places
    std::string reference_name{};
    std::string dashed_name{}; // of the dashed lines
    std::vector<Series> series{};

    [[nodiscard]] bool is_empty() const;
};

[[nodiscard]] std::string drawn(const Chart& chart);

} // namespace rpmem::bench
