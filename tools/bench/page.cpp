// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/page.hpp"

#include "tools/bench/measured.hpp"
#include "tools/bench/plots.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>

namespace rpmem::bench {
namespace {

constexpr const char* head = R"html(<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>rpmem-bench</title>
<style>
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #222; background: #fff; margin: 0 auto; max-width: 84rem; padding: 1rem 1.5rem 3rem; }
h1 { font-size: 1.7rem; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .3rem; border-bottom: 1px solid #ccc; }
p { max-width: 60rem; margin: .4rem 0 .8rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1.2rem; }
figure { margin: 0; border: 1px solid #ddd; border-radius: 6px; padding: .6rem .6rem .2rem; min-width: 0; max-width: 46rem; }
figcaption { font-weight: 600; padding-left: .3rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #222; }
svg .title { font-size: 14px; }
svg .grid { stroke: #e2e2e2; }
svg .axis { stroke: #222; }
svg .reference { stroke: #222; stroke-width: 1.5; stroke-dasharray: 2 3; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .4rem 0; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid #e2e2e2; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .texts td { text-align: left; }
.texts td { white-space: normal; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .3rem 0; }
</style>
</head>
<body>
<h1>rpmem-bench</h1>
)html";

class Page {
public:
    Page(const Measured& ours, const Measured* other) : ours_(ours), other_(other) {}

    std::string made() {
        text_ = head;
        add_context();
        add_charts(
            "Latency by size",
            "The box has half of the operations, the line in it is the median. Whiskers reach "
            "from the least time to that which 99 of a hundred did not exceed.",
            latency_charts(ours_, other_));
        add_charts("Throughput by lanes", "All lanes together, each with a thread of its own.",
                   throughput_charts(ours_, other_));
        add_charts(
            "Against the limit",
            "The limit is raw TCP between the same processors, measured in turn with ours: it "
            "copies the bytes to the same medium and answers. Lower is better.",
            limit_charts(ours_, other_));
        if (other_ != nullptr)
            add_charts("Against the other report", "Above 1, this report is the faster one.",
                       comparison_charts(ours_, *other_));
        add_rows();
        add_others();
        text_ += "</body>\n</html>\n";
        return std::move(text_);
    }

private:
    template <typename... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }

    static std::string value_of(const Measured& report, const char* name) {
        for (const auto& [known, value] : report.context)
            if (known == name)
                return value;
        return "?";
    }

    void add_context() {
        for (const Measured* const report : {&ours_, other_})
            if (report != nullptr)
                add("<p>{}: {} on {}, {} processors, target {}.</p>",
                    report == other_ ? "The other report" : "This report",
                    escaped(value_of(*report, "date")), escaped(value_of(*report, "host_name")),
                    escaped(value_of(*report, "num_cpus")), escaped(value_of(*report, "target")));
        add("<details><summary>Where and with what</summary>");
        for (const Measured* const report : {&ours_, other_})
            if (report != nullptr)
                add_texts(report == other_ ? "Other report" : "This report", report->context);
        add("</details>");
    }

    void add_texts(const char* caption, const std::vector<Measured::Text>& texts) {
        add("<div class=\"scroll\"><table class=\"texts\"><caption>{}</caption>", caption);
        for (const auto& [name, value] : texts)
            add("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escaped(name), escaped(value));
        add("</table></div>");
    }

    void add_charts(const char* title, const char* text, const std::vector<Chart>& charts) {
        std::string figures;
        for (const Chart& chart : charts)
            if (!chart.is_empty())
                figures += fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                                       escaped(chart.title), drawn(chart));
        if (!figures.empty())
            add("<h2>{}</h2>\n<p>{}</p>\n<div class=\"charts\">\n{}</div>", title, text, figures);
    }

    static std::string cell(double value) {
        if (value <= 0)
            return "<td>–</td>";
        constexpr double all_digits = 1000; // from here on, no fraction
        return value >= all_digits ? fmt::format("<td>{:.0f}</td>", value)
                                   : fmt::format("<td>{:.4g}</td>", value);
    }

    void add_rows() {
        if (ours_.rows.empty())
            return;
        add("<h2>All figures</h2>\n<div class=\"scroll\"><table><caption>Times in "
            "µs</caption>\n<tr>");
        for (const char* const name :
             {"operation", "size", "lanes", "time", "99 %", "MB/s", "raw TCP", "times TCP"})
            add("<th scope=\"col\">{}</th>", name);
        if (other_ != nullptr)
            add("<th scope=\"col\">other time</th><th scope=\"col\">other / this</th>");
        add("</tr>");
        for (const MeasuredRow& row : ours_.rows) {
            constexpr std::size_t almost_all = 5; // of quantiles
            add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>{}{}{}{}{}", row.operation,
                size_text(row.size), row.lanes, cell(row.time),
                cell(row.quantiles ? (*row.quantiles)[almost_all] : 0), cell(row.rate * 1e3),
                cell(row.tcp), cell(row.times_tcp));
            if (other_ != nullptr) {
                const MeasuredRow* const there = other_->find(row.operation, row.size, row.lanes);
                text_ += cell(there != nullptr ? there->time : 0) +
                         cell(there != nullptr ? there->time / row.time : 0);
            }
            add("</tr>");
        }
        add("</table></div>");
    }

    void add_others() {
        if (ours_.others.empty())
            return;
        add("<h2>Other figures</h2>");
        add_texts("Microseconds, unless the name says otherwise", ours_.others);
    }

    const Measured& ours_;
    const Measured* other_;
    std::string text_;
};

Result<Measured> to_compare_with(const Options& options) {
    RPMEM_ASSIGN(const Json report, read_report(options.against));
    return measured(report);
}

} // namespace

Result<> prepare_page(const Options& options) {
    if (!options.against.empty())
        RPMEM_TRY(read_report(options.against));
    if (!std::ofstream(options.report, std::ios::app))
        return fail_errno(ErrorClass::caller_fault, errno, "cannot write {}", options.report);
    return {};
}

Result<> write_page(const Options& options, const Json& report) {
    const Measured ours = measured(report);
    Measured other;
    if (!options.against.empty()) {
        RPMEM_ASSIGN(other, to_compare_with(options));
    }
    std::ofstream file(options.report);
    file << Page(ours, options.against.empty() ? nullptr : &other).made();
    file.close();
    if (!file)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot write {}", options.report);
    return {};
}

} // namespace rpmem::bench
