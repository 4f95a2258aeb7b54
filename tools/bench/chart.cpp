// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rpmem::bench {
namespace {

// In units of the drawing, which a browser scales to its place.
constexpr double width = 640;
constexpr double left = 72;
constexpr double right = 14;
constexpr double plot_height = 270;
constexpr double below = 58; // names, and the title of the axis
constexpr double legend_row = 20;
constexpr double legend_sample = 34; // a piece of line with its mark, and a gap
constexpr double letter = 7.2;       // about, of a letter of the legend
constexpr double widest_box = 26;
constexpr double mark_half = 4.5; // of a mark, half of its width

// By Okabe and Ito: told apart by those who see few colours. The last is for what is not ours.
constexpr std::array<const char*, 7> colours{"#0072b2", "#d55e00", "#009e73", "#aa4499",
                                             "#b07d00", "#3a9bd4", "#666666"};

const char* colour_of(const Series& series) { return colours[series.style % colours.size()]; }

// Logarithmic: twice a value is as far from it everywhere.
struct Scale {
    double low = 1;
    double high = 10;
    std::vector<double> ticks{};

    [[nodiscard]] double part(double value) const {
        return std::log(std::max(value, low) / low) / std::log(high / low);
    }
};

// The value of 1, 2, 5, 10, ... at VALUE or next to it, upwards or downwards.
double rounded(double value, bool up) {
    const double decade = std::pow(10, std::floor(std::log10(value)));
    constexpr std::array steps{1.0, 2.0, 5.0, 10.0};
    constexpr double slack = 1e-9;
    if (up)
        return decade * *std::ranges::find_if(steps, [&](double step) {
                   return step * (1 + slack) >= value / decade || step == steps.back();
               });
    return decade * *std::find_if(steps.rbegin(), steps.rend(), [&](double step) {
               return step * (1 - slack) <= value / decade || step == steps.front();
           });
}

Scale logarithmic_scale(double least, double most) {
    constexpr double max_decades_with_steps = 2.2;
    Scale scale{.low = rounded(least, false), .high = rounded(most, true)};
    if (scale.low == scale.high)
        scale.high *= 10;
    const bool steps = std::log10(scale.high / scale.low) < max_decades_with_steps;
    const int first = static_cast<int>(std::floor(std::log10(scale.low)));
    const int last = static_cast<int>(std::ceil(std::log10(scale.high)));
    for (int decade = first; decade <= last; ++decade)
        for (const double step : {1.0, 2.0, 5.0})
            if (const double tick = std::pow(10, decade) * step;
                (steps || step == 1) && tick >= scale.low * 0.999 && tick <= scale.high * 1.001)
                scale.ticks.push_back(tick);
    return scale;
}

Scale scale_of(const Chart& chart) {
    std::vector<double> values;
    if (chart.reference)
        values.push_back(*chart.reference);
    for (const Series& series : chart.series) {
        for (const Point& point : series.points)
            values.push_back(point.value);
        for (const Box& box : series.boxes)
            values.insert(values.end(), box.values.begin(), box.values.end());
    }
    const auto [least, most] = std::ranges::minmax(values);
    return logarithmic_scale(least, most);
}

class Drawing {
public:
    explicit Drawing(const Chart& chart)
        : chart_(chart), scale_(scale_of(chart)), explained_(explained(chart)) {
        lay_out_legend();
    }

    std::string draw() {
        add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {:g}" role="img" aria-label="{}">)",
            width, top_ + plot_height + below, escaped(chart_.title));
        add("<desc>{}</desc>\n", escaped(chart_.description));
        add_axes();
        add_legend();
        if (chart_.reference)
            add(R"(<line class="reference" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", left,
                width - right, up(*chart_.reference), up(*chart_.reference));
        const auto boxes = std::ranges::count_if(
            chart_.series, [](const Series& series) { return !series.boxes.empty(); });
        unsigned number = 0;
        for (const Series& series : chart_.series)
            if (!series.boxes.empty())
                add_boxes(series, number++, static_cast<unsigned>(boxes));
        for (const Series& series : chart_.series)
            add_points(series);
        text_ += "</svg>\n";
        return std::move(text_);
    }

private:
    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }

    [[nodiscard]] double step() const {
        return (width - left - right) / static_cast<double>(chart_.places.size());
    }
    [[nodiscard]] double across(std::size_t place) const {
        return left + step() * (static_cast<double>(place) + 0.5);
    }
    [[nodiscard]] double up(double value) const {
        return top_ + plot_height * (1 - scale_.part(value));
    }

    // Rows, as names are short or long.
    void lay_out_legend() {
        double x = left;
        double row = 0;
        const auto place = [&](const std::string& name) {
            const double wide = legend_sample + letter * static_cast<double>(name.size()) + 12;
            if (x > left && x + wide > width) {
                x = left;
                ++row;
            }
            legend_.push_back({x, 14 + row * legend_row});
            x += wide;
        };
        for (const Series& series : explained_)
            place(series.name);
        if (chart_.reference)
            place(chart_.reference_name);
        top_ = (row + 1) * legend_row + 16;
    }

    // Each line of its own colour, and the name of dashed ones.
    static std::vector<Series> explained(const Chart& chart) {
        std::vector<Series> result;
        bool is_dashed = false;
        for (const Series& series : chart.series) {
            is_dashed |= series.dashed;
            if (!series.dashed)
                result.push_back(series);
        }
        if (is_dashed)
            result.push_back(
                {.name = chart.dashed_name, .style = colours.size() - 1, .dashed = true});
        return result;
    }

    void add_legend() {
        std::size_t i = 0;
        for (const Series& series : explained_) {
            const auto [x, y] = legend_[i++];
            if (series.boxes.empty())
                add(R"(<line x1="{:g}" x2="{:g}" y1="{:g}" y2="{:g}" stroke="{}" stroke-width="2"{}/>)",
                    x, x + 26, y, y, colour_of(series), dash(series));
            add_mark(series, x + 13, y, "");
            add(R"(<text class="legend" x="{:g}" y="{:g}">{}</text>)", x + legend_sample, y + 4,
                escaped(series.name));
        }
        if (!chart_.reference)
            return;
        const auto [x, y] = legend_[i];
        add(R"(<line class="reference" x1="{:g}" x2="{:g}" y1="{:g}" y2="{:g}"/>)", x, x + 26, y,
            y);
        add(R"(<text class="legend" x="{:g}" y="{:g}">{}</text>)", x + legend_sample, y + 4,
            escaped(chart_.reference_name));
    }

    void add_axes() {
        const double bottom = top_ + plot_height;
        for (const double tick : scale_.ticks) {
            add(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)", left,
                width - right, up(tick), up(tick));
            add(R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{:g}</text>)", left - 7,
                up(tick) + 4, tick);
        }
        for (std::size_t i = 0; i < chart_.places.size(); ++i)
            add(R"(<text class="tick" x="{:.1f}" y="{:g}" text-anchor="middle">{}</text>)",
                across(i), bottom + 18, escaped(chart_.places[i]));
        add(R"(<line class="axis" x1="{}" x2="{}" y1="{:g}" y2="{:g}"/>)", left, width - right,
            bottom, bottom);
        add(R"(<text class="title" x="{:g}" y="{:g}" text-anchor="middle">{}</text>)",
            (left + width - right) / 2, bottom + 44, escaped(chart_.across));
        const double middle = top_ + plot_height / 2;
        add(R"svg(<text class="title" x="16" y="{0:g}" text-anchor="middle" transform="rotate(-90 16 {0:g})">{1}</text>)svg",
            middle, escaped(chart_.upwards));
    }

    static const char* dash(const Series& series) {
        return series.dashed ? R"( stroke-dasharray="6 4")" : "";
    }

    void add_points(const Series& series) {
        std::string line;
        for (const Point& point : series.points)
            line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", across(point.place),
                                up(point.value));
        if (series.points.size() > 1)
            add(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"{}/>)", line,
                colour_of(series), dash(series));
        for (const Point& point : series.points)
            add_mark(series, across(point.place), up(point.value), point.tip);
    }

    void add_mark(const Series& series, double x, double y, const std::string& tip) {
        const std::string paint =
            fmt::format(R"(fill="{}" stroke="{}" stroke-width="2")",
                        series.dashed ? "#ffffff" : colour_of(series), colour_of(series));
        const std::string kind = tip.empty() ? "" : R"(class="point" )";
        const std::string inside =
            tip.empty() ? "" : fmt::format("<title>{}</title>", escaped(tip));
        if (!series.boxes.empty())
            add(R"(<rect x="{:g}" y="{:g}" width="14" height="12" fill="{}" fill-opacity="0.35" stroke="{}" stroke-width="1.5"/>)",
                x - 7, y - 6, colour_of(series), colour_of(series));
        else if (series.style % 3 == 0)
            add(R"(<circle {}cx="{:.1f}" cy="{:.1f}" r="{}" {}>{}</circle>)", kind, x, y,
                mark_half - 0.5, paint, inside);
        else if (series.style % 3 == 1)
            add(R"(<rect {}x="{:.1f}" y="{:.1f}" width="{}" height="{}" {}>{}</rect>)", kind,
                x - mark_half + 1, y - mark_half + 1, 2 * mark_half - 2, 2 * mark_half - 2, paint,
                inside);
        else
            add(R"(<path {}d="M{:.1f} {:.1f}l{} {}h-{}z" {}>{}</path>)", kind, x, y - mark_half,
                mark_half, 2 * mark_half - 1, 2 * mark_half, paint, inside);
    }

    void add_boxes(const Series& series, unsigned number, unsigned all) {
        const double room = std::min(widest_box, step() / (all + 0.6));
        const double shift = (number - (all - 1) / 2.0) * room;
        const double half = room * 0.38;
        for (const Box& box : series.boxes) {
            const double x = across(box.place) + shift;
            std::array<double, 5> y{};
            std::ranges::transform(box.values, y.begin(), [&](double value) { return up(value); });
            add(R"(<g class="point" stroke="{}" stroke-width="1.5"><title>{}</title>)",
                colour_of(series), escaped(box.tip));
            add(R"(<path d="M{0:.1f} {2:.1f}V{3:.1f}M{0:.1f} {5:.1f}V{6:.1f}M{7:.1f} {2:.1f}h{1:.1f}M{7:.1f} {6:.1f}h{1:.1f}" fill="none"/>)",
                x, half, y[0], y[1], 0, y[3], y[4], x - half / 2);
            add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}" fill-opacity="0.35"/>)",
                x - half, y[3], 2 * half, std::max(y[1] - y[3], 1.0), colour_of(series));
            add(R"(<path d="M{:.1f} {:.1f}h{:.1f}" stroke-width="3"/></g>)", x - half, y[2],
                2 * half);
        }
    }

    const Chart& chart_;
    Scale scale_;
    std::vector<Series> explained_; // in the legend
    double top_ = 0;
    std::vector<std::pair<double, double>> legend_;
    std::string text_;
};

} // namespace

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text)
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        // XML has no other control characters.
        default:
            result += static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
            break;
        }
    return result;
}

bool Chart::is_empty() const {
    return std::ranges::all_of(
        series, [](const Series& one) { return one.points.empty() && one.boxes.empty(); });
}

std::string drawn(const Chart& chart) { return chart.is_empty() ? "" : Drawing(chart).draw(); }

} // namespace rpmem::bench
