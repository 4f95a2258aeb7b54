#include "tools/bench/table.hpp"

#include "tools/bench/messages.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace rpmem::bench {
namespace {

constexpr int status_above_limit = 3;
constexpr const char* plain_row = "persist/strict/4096/lanes:1"; // the same is measured with TLS

// One figure of a row of a report.
struct Line {
    std::string row;
    std::string figure;
    std::optional<double> allowed{}; // without it the figure is told, and not judged
};

// Lines that are measured in the same run of this program.
struct Group {
    std::string options;
    std::vector<Line> lines;
    // Threads take turns on the processors, so it takes longer until each of many had several.
    unsigned times_longer = 1;
};

std::vector<Group> table_groups() {
    return {
        {"--cases persist,read,flush --lanes 1 --sizes 8,64,512,4K,64K,1M",
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
        {"--cases open,connect1024 --lanes 1,16",
         {{"open/lanes:1", "create_above_login_ms", 30},
          {"open/lanes:16", "create_above_login_ms", 30},
          {"open/lanes:1", "open_above_login_ms", 30},
          {"open/lanes:16", "open_above_login_ms", 30},
          {"connect1024", "real_time", 500}}},
        {"--cases memory",
         {{"memory/lanes:1", "private_kib", 4096 + 16},
          {"memory/lanes:256", "private_kib", 4096 + 256 * 16}}},
        {"--tls --cases persist,read --lanes 1 --sizes 4K,32M",
         {{plain_row, "times_plain", 1.60},
          {"persist/strict/33554432/lanes:1", "gigabytes_per_second", 1},
          {"read/33554432/lanes:1", "gigabytes_per_second", 1}}},
        {"--cases strangers", {{"strangers/64/lanes:1", "times_alone"}}},
    };
}

// Later options go before earlier ones.
std::vector<std::string> words_of(const Options& options, const Group& group) {
    std::istringstream more(group.options);
    std::vector<std::string> words{own_program, options.target, options.pool_set, "--json"};
    words.insert(words.end(), {"--rounds", std::to_string(options.rounds)});
    const unsigned time = std::min(options.milliseconds * group.times_longer, 60000U);
    words.insert(words.end(), {"--time", std::to_string(time)});
    if (!options.medium.empty())
        words.insert(words.end(), {"--medium", options.medium});
    if (!options.answer_program.empty())
        words.insert(words.end(), {"--answer-program", options.answer_program});
    for (std::string word; more >> word;)
        words.push_back(word);
    return words;
}

// What a run of this program reports.
Result<Json> report_of(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const UniqueFd output(::memfd_create("report", MFD_CLOEXEC));
    RPMEM_ASSIGN(const OtherProcess run, start_process([&](int) {
                     if (::dup2(output.get(), STDOUT_FILENO) == STDOUT_FILENO)
                         ::execv(own_program, arguments.data());
                 }));
    wait_for(run);
    std::ifstream file(fmt::format("/proc/self/fd/{}", output.get()));
    Json report = Json::parse(file, nullptr, false);
    if (!report.is_object())
        return fail(ErrorClass::bug, EBADMSG, "the new process made no report");
    return report;
}

class Table {
public:
    explicit Table(const Options& options) : options_(options) {}

    int run() {
        for (const Group& group : table_groups())
            measure(group);
        if (options_.json)
            fmt::print("{}\n", table_.dump(2));
        return status_;
    }

private:
    void measure(const Group& group) {
        Result<Json> report = report_of(words_of(options_, group));
        if (!report)
            fmt::print(stderr, "rpmem-bench: {}\n", report.error().text);
        const Json rows = report ? report->value("benchmarks", Json::array()) : Json::array();
        if (table_.is_null() && report)
            table_["context"] = (*report)["context"];
        for (const Line& line : group.lines) {
            Json found = Json::object();
            for (const Json& row : rows)
                if (row.value("run_name", "") == line.row)
                    found = row;
            // With TLS and without it, both were measured in turn with the same limit.
            if (line.figure == "times_plain" && plain_ > 0)
                found["times_plain"] = found.value("times_tcp", 0.0) / plain_;
            else if (line.row == plain_row)
                plain_ = found.value("times_tcp", 0.0);
            print(line, found, judge(line, found));
        }
    }

    const char* judge(const Line& line, const Json& row) {
        const double value = row.value(line.figure, 0.0);
        if (value == 0) {
            status_ = EXIT_FAILURE;
            return "not measured";
        }
        if (!line.allowed)
            return "told";
        if (is_least(line) ? value >= *line.allowed : value <= *line.allowed)
            return "pass";
        if (status_ == EXIT_SUCCESS)
            status_ = status_above_limit;
        return "FAIL";
    }

    static bool is_least(const Line& line) { return line.figure == "gigabytes_per_second"; }

    void print(const Line& line, const Json& row, const char* verdict) {
        Json item{{"figure", line.figure}, {"verdict", verdict}, {"row", row}};
        std::string allowed;
        if (line.allowed) {
            item["allowed"] = *line.allowed;
            allowed = fmt::format("{} {:.2f}", is_least(line) ? ">=" : "<=", *line.allowed);
        }
        table_["table"].push_back(std::move(item));
        if (options_.json)
            return;
        fmt::print("{:<32} {:<22} {:>9.2f} {:>11}  {:<5} {:.1f} {}", line.row, line.figure,
                   row.value(line.figure, 0.0), allowed, verdict, row.value("real_time", 0.0),
                   row.value("time_unit", ""));
        for (const char* const name : {"tcp_us", "best_times_tcp", "alone_us", "login_ms"})
            if (row.contains(name))
                fmt::print(", {} {:.2f}", name, row[name].get<double>());
        fmt::print("\n");
        (void)std::fflush(stdout);
    }

    const Options& options_;
    int status_ = EXIT_SUCCESS;
    double plain_ = 0; // times_tcp without TLS
    Json table_;
};

} // namespace

int run_table(const Options& options) { return Table(options).run(); }

} // namespace rpmem::bench
