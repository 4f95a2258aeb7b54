#include "tools/bench/table.hpp"

#include "tools/bench/programs.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/table_lines.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::bench {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr int status_above_limit = 3;

// What a run of this program with these options reports. Later options go before earlier ones.
Result<Json> rows_of(const Options& options, const Words& words) {
    Words all{own_program, options.target, options.pool_set,
              "--json",    "--rounds",     std::to_string(options.rounds)};
    const auto given = [&](const std::string& name) {
        return std::find(words.begin(), words.end(), name) != words.end();
    };
    if (!given("--time"))
        all.insert(all.end(), {"--time", std::to_string(options.time.count())});
    if (!options.medium.empty())
        all.insert(all.end(), {"--medium", options.medium});
    if (!options.answer_program.empty())
        all.insert(all.end(), {"--answer-program", options.answer_program});
    all.insert(all.end(), words.begin(), words.end());
    RPMEM_ASSIGN(const Ended ended, run_program(all));
    Json report = Json::parse(ended.output, nullptr, false);
    if (!report.is_object() || !report["rows"].is_array())
        return fail(ErrorClass::bug, EBADMSG, "the new process made no report");
    return report["rows"];
}

bool belongs_to(const Json& row, const Line& line) {
    return row.value("case", "") == line.name && row.value("variant", "") == line.variant &&
           row.value("bytes", std::uint64_t{0}) == line.bytes &&
           row.value("lanes", 0U) == line.lanes;
}

double number(const Json& row, const std::string& pointer) {
    const Json value = row.value(Json::json_pointer(pointer), Json());
    return value.is_number() ? value.get<double>() : 0;
}

std::string pointer_to(const std::string& limit, const char* figure) {
    return "/limits/" + limit + "/" + figure;
}

// Of the limits of LINE the one that ours reaches least; empty if it has none.
std::string hardest_limit(const Json& row, const Line& line) {
    const auto share = [&](const std::string& limit) {
        return number(row, pointer_to(limit, "share"));
    };
    const auto hardest = std::ranges::max_element(line.limits, {}, share);
    return hardest == line.limits.end() ? "" : *hardest;
}

std::string time_text(double microseconds) {
    return microseconds >= 1e4 ? fmt::format("{:.0f} ms", microseconds / 1e3)
                               : fmt::format("{:.1f} us", microseconds);
}

// Of ours or of a limit. With several lanes it is the rate that counts.
std::string measured_text(const Json& row, const std::string& pointer) {
    const double median = number(row, pointer + "/median_us");
    if (median == 0)
        return "";
    const bool rate = number(row, "/lanes") > 1 && row["case"] == "persist";
    return rate ? fmt::format("{:.1f} k/s", number(row, pointer + "/operations_per_second") / 1e3)
                : time_text(median);
}

class Table {
public:
    explicit Table(const Options& options) : options_(options) {}

    int run() {
        begin();
        for (const Group& group : table_groups(options_))
            measure(group);
        end();
        return status_;
    }

private:
    void measure(const Group& group) {
        Result<Json> rows = rows_of(options_, group.options);
        if (!rows)
            fmt::print(stderr, "rpmem-bench: {}\n", rows.error().text);
        for (const Line& line : group.lines) {
            Json found = Json::object();
            for (Json& row : rows ? *rows : Json::array())
                if (belongs_to(row, line))
                    found = std::move(row);
            if (!found.empty())
                complete(found, group.encrypted);
            judge(line, found);
        }
    }

    // Figures that a report does not have.
    void complete(Json& row, bool encrypted) {
        row["milliseconds"] = number(row, "/ours/median_us") / 1e3;
        const double share = number(row, pointer_to("tcp_spinning", "share"));
        // Both were measured in turn with the same limit.
        if (encrypted)
            row["times_plain"] = plain_share_ > 0 ? share / plain_share_ : 0;
        else if (row["case"] == "persist" && row["variant"] == "strict" && row["bytes"] == 4096 &&
                 row["lanes"] == 1)
            plain_share_ = share;
    }

    void judge(const Line& line, const Json& row) {
        const std::string limit = hardest_limit(row, line);
        const double value =
            number(row, line.figure == "share" ? pointer_to(limit, "share") : line.figure);
        // Of times a login may have taken longer.
        if (row.empty() || (value == 0 && line.unit != " ms")) {
            add(line, row, limit, "not measured");
            status_ = EXIT_FAILURE;
            return;
        }
        if (!line.allowed) {
            add(line, row, limit, "told", value);
            return;
        }
        const bool pass = line.at_least ? value >= *line.allowed : value <= *line.allowed;
        if (!pass && status_ == EXIT_SUCCESS)
            status_ = status_above_limit;
        add(line, row, limit, pass ? "pass" : "FAIL", value);
    }

    void begin() const {
        if (options_.json)
            return;
        print_machine();
        fmt::print("\n{:<32} {:>10} {:<22} {:>10} {:>12}\n", "work", "ours", "limit", "figure",
                   "allowed");
    }

    void add(const Line& line, const Json& row, const std::string& limit,
             const std::string& verdict, std::optional<double> value = {}) {
        std::string work = line.name;
        for (const std::string& part :
             {line.variant, size_text(line.bytes),
              line.lanes > 1 ? fmt::format("{} lanes", line.lanes) : std::string()})
            if (!part.empty())
                work += " " + part;
        Json item{{"work", work},       {"limit", limit},
                  {"unit", line.unit},  {"at_least", line.at_least},
                  {"verdict", verdict}, {"remark", line.remark},
                  {"row", row}};
        if (line.allowed)
            item["allowed"] = *line.allowed;
        if (value)
            item["figure"] = *value;
        if (!options_.json)
            print(item);
        items_.push_back(std::move(item));
    }

    static void print(const Json& item) {
        const Json& row = item["row"];
        const std::string unit = item["unit"];
        const std::string limit = item["limit"];
        const auto text = [&](const char* name) {
            return fmt::format("{:.{}f}{}", item[name].get<double>(),
                               unit == "x" || unit == " GB/s" ? 2 : 0, unit);
        };
        std::string remark = item["remark"].get<std::string>();
        if (const double best = number(row, pointer_to(limit, "best_share"));
            unit == "x" && best > 0)
            remark += fmt::format("{}best round {:.2f}x", remark.empty() ? "" : ", ", best);
        fmt::print("{:<32} {:>10} {:<22} {:>10} {:>12}  {}{}\n", item["work"].get<std::string>(),
                   measured_text(row, "/ours"),
                   limit + " " + measured_text(row, "/limits/" + limit),
                   item.contains("figure") ? text("figure") : "",
                   item.contains("allowed")
                       ? (item["at_least"].get<bool>() ? ">= " : "<= ") + text("allowed")
                       : "",
                   item["verdict"].get<std::string>(), remark.empty() ? "" : ": " + remark);
        (void)std::fflush(stdout);
    }

    void end() const {
        if (!options_.json)
            return;
        Json json = describe_run(options_);
        json["table"] = items_;
        fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    }

    const Options& options_;
    int status_ = EXIT_SUCCESS;
    double plain_share_ = 0;
    std::vector<Json> items_;
};

} // namespace

int run_table(const Options& options) { return Table(options).run(); }

} // namespace rpmem::bench
