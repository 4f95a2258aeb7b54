// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/freed_by.hpp"
#include "common/base/shell_word.hpp"
#include "tools/bench/cases.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::bench {
namespace {

constexpr int status_above_limit = 3;
constexpr const char* plain_row = "persist/strict/4096/lanes:1"; // also measured with TLS

constexpr const char* away_row = "away/lanes:1";

// One figure of a row of a report.
struct Line {
    std::string row;
    std::string figure;
    std::optional<double> allowed{}; // limit; without it, the figure is only printed
};

// Lines that are measured in the same run of this program.
struct Group {
    std::string options;
    std::vector<Line> lines;
    // Factor for the duration of a measurement. Many threads take turns on the processors, so each
    // needs more time for several operations.
    unsigned times_longer = 1;
};

std::vector<Group> table_groups() {
    return {
        {"--cases persist,read,flush --lanes 1 --sizes 4K,8,64,512,64K,1M",
         {{"persist/strict/8/lanes:1", "times_tcp", 1.10},
          {"persist/strict/64/lanes:1", "times_tcp", 1.10},
          {"persist/strict/512/lanes:1", "times_tcp", 1.10},
          {plain_row, "times_tcp", 1.10},
          {"persist/relaxed/65536/lanes:1", "times_tcp", 1.15},
          {"persist/relaxed/1048576/lanes:1", "times_tcp", 1.15},
          {"persist/strict/65536/lanes:1", "times_tcp", 1.35},
          {"persist/strict/1048576/lanes:1", "times_tcp", 1.35},
          {"read/64/lanes:1", "times_tcp", 1.10},
          {"read/4096/lanes:1", "times_tcp", 1.10},
          {"read/65536/lanes:1", "times_tcp", 1.10},
          {"flush/strict/4096/lanes:1", "times_tcp", 1.30},
          {"flush/relaxed/4096/lanes:1", "times_tcp", 1.30}}},
        {"--no-spin --cases persist --lanes 1 --sizes 64",
         {{"persist/strict/64/lanes:1", "times_tcp", 1.10}}},
        {"--cases persist --lanes 4,16 --sizes 4K",
         {{"persist/strict/4096/lanes:4", "times_tcp", 1.20},
          {"persist/strict/4096/lanes:16", "times_tcp", 1.20}},
         10},
        {"--cases open --lanes 1,16,1024 --sizes 8",
         {{"open/lanes:1", "create_above_login_ms", 30},
          {"open/lanes:16", "create_above_login_ms", 30},
          {"open/lanes:1", "open_above_login_ms", 30},
          {"open/lanes:16", "open_above_login_ms", 30},
          {"open/lanes:1024", "lanes_ms", 500}}},
        {"--cases idle --lanes 1,256 --sizes 8",
         {{"idle/lanes:1", "private_kib", 4096 + 16},
          {"idle/lanes:256", "private_kib", 4096 + 256 * 16}}},
        {"--tls --cases persist,read --lanes 1 --sizes 4K,32M",
         {{plain_row, "times_plain", 1.60},
          {"persist/strict/33554432/lanes:1", "gigabytes_per_second", 1},
          {"read/33554432/lanes:1", "gigabytes_per_second", 1}}},
        {"--cases refused", {{"refused/64/lanes:1", "times_alone"}}},
        {"--cases away",
         {{away_row, "join_pause_ms", 50},
          {away_row, "times_push", 0.90},
          {away_row, "times_p99", 2},
          {away_row, "times_p99_capped", 1.20},
          {away_row, "mark_above_flush_ns", 150}}},
        {"--cases compare", {{"compare/lanes:1", "gigabytes_per_second", 2}}},
    };
}

// Runs this program for GROUP, and returns the rows of its report. If it fails, it has printed why,
// and there are no rows.
Json rows_of(const Options& options, const Group& group) {
    std::string command =
        fmt::format("exec /proc/{}/exe {} {} --json --rounds {} --time {} {}", ::getpid(),
                    shell_word(options.target), shell_word(options.pool_set), options.rounds,
                    std::min(options.milliseconds * group.times_longer, 60000U), group.options);
    if (!options.medium.empty())
        command += " --medium " + shell_word(options.medium);
    if (!options.answer_program.empty())
        command += " --answer-program " + shell_word(options.answer_program);
    const std::unique_ptr<FILE, FreedBy<&::pclose>> output(::popen(command.c_str(), "re"));
    const Json report = output ? Json::parse(output.get(), nullptr, false) : Json();
    return report.is_object() ? report.value("benchmarks", Json::array()) : Json::array();
}

class Table {
public:
    // Prints the table, and returns the exit status.
    int run(const Options& options) {
        for (const Group& group : table_groups()) {
            std::map<std::string, Json> rows;
            for (const Json& row : rows_of(options, group))
                rows[row.value("run_name", "")] = row;
            for (const Line& line : group.lines)
                add(line, rows.contains(line.row) ? rows[line.row] : Json::object());
        }
        return status_;
    }

private:
    void add(const Line& line, Json row) {
        // Each row was measured in alternation with raw TCP, and is a multiple of it. So the row
        // with TLS can be compared with the one without.
        if (line.figure == "times_plain" && plain_ > 0)
            row["times_plain"] = row.value("times_tcp", 0.0) / plain_;
        else if (line.row == plain_row)
            plain_ = row.value("times_tcp", 0.0);
        const bool is_min = line.figure == "gigabytes_per_second" || line.figure == "times_push";
        const double value = row.value(line.figure, 0.0);
        const char* verdict = "no limit";
        if (value == 0) {
            verdict = "not measured";
            status_ = EXIT_FAILURE;
        } else if (line.allowed) {
            const bool pass = is_min ? value >= *line.allowed : value <= *line.allowed;
            verdict = pass ? "pass" : "FAIL";
            status_ = pass || status_ != EXIT_SUCCESS ? status_ : status_above_limit;
        }
        fmt::print("{:<32} {:<22} {:>9.2f} {:>11}  {:<4}", line.row, line.figure, value,
                   line.allowed ? fmt::format("{} {:.2f}", is_min ? ">=" : "<=", *line.allowed)
                                : "",
                   verdict);
        for (const char* const name :
             {"real_time", "tcp_us", "best_times_tcp", "login_ms", "push_gigabytes_per_second",
              "times_persist", "in_sync_p99_us", "mark_ns"})
            if (row.contains(name))
                fmt::print(" {} {:.2f}", name, row[name].get<double>());
        fmt::print("\n");
        (void)std::fflush(stdout);
    }

    int status_ = EXIT_SUCCESS;
    double plain_ = 0; // times_tcp without TLS
};

} // namespace

int run_table(const Options& options) { return Table().run(options); }

} // namespace rpmem::bench
