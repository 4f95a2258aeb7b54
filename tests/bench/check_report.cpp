// SPDX-License-Identifier: BSD-3-Clause
// check_report FILE: is the JSON of rpmem-bench whole, and do its figures fit each other? How large
// they are is not looked at, but for what is used while nothing is done.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace {

using Json = nlohmann::json;

int faults = 0;

void expect(bool fact, const std::string& text, const Json& row) {
    if (fact)
        return;
    fmt::print("{}: {}\n", text, row.dump());
    ++faults;
}

double number(const Json& json, const char* name) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_number())
        return found->get<double>();
    expect(false, fmt::format("there is no {}", name), json);
    return 0;
}

// BEST and MEDIAN are of the same rounds.
void check_rounds(const Json& row) {
    const double best = number(row, "best");
    expect(best > 0 && best <= number(row, "real_time"), "the median is too small", row);
    expect(row.value("aggregate_name", "") == "median", "it is not of several rounds", row);
}

void check_operation(const Json& row) {
    check_rounds(row);
    expect(number(row, "cpu_time") > 0, "no processor time of ours", row);
    const double rate = number(row, "gigabytes_per_second");
    expect(rate > 0, "no rate", row);
    double last = 0;
    for (const char* const name :
         {"least_us", "p25_us", "p50_us", "p75_us", "p90_us", "p99_us", "p999_us"}) {
        const double quantile = number(row, name);
        expect(quantile > 0 && quantile >= last, "quantiles do not rise", row);
        last = quantile;
    }
}

// How many times the time of raw TCP ours is.
void check_limit(const Json& row) {
    expect(number(row, "tcp_us") > 0, "nothing to compare with", row);
    expect(number(row, "times_tcp") > 0, "no quotient", row);
    expect(number(row, "best_times_tcp") > 0, "no quotient of the best rounds", row);
}

// Both sides sleep: they neither spin nor wake up again and again. Each lane was used before.
void check_idle(const Json& row) {
    constexpr double max_ms_each_second = 10;
    expect(number(row, "real_time") == 1e6, "idle took another time than a second", row);
    const double own = number(row, "own_cpu_ms");
    const double target = number(row, "target_cpu_ms");
    expect(own >= 0 && target >= 0, "no processor time", row);
    expect(own + target <= max_ms_each_second, "too much processor time for nothing", row);
    expect(number(row, "private_kib") > 0, "a daemon without memory", row);
}

void check_start(const Json& row) {
    check_rounds(row);
    const double login = number(row, "login_ms");
    const double open = number(row, "open_above_login_ms");
    expect(login > 0, "no login", row);
    expect(number(row, "real_time") > 0 && std::isfinite(open), "no time of opening", row);
    expect(std::isfinite(number(row, "create_above_login_ms")), "no time of creating", row);
    expect(std::isfinite(number(row, "lanes_ms")), "no time of the lanes", row);
}

void check_row(const Json& row, const std::string& name) {
    if (name == "idle")
        return check_idle(row);
    if (name == "open")
        return check_start(row);
    if (name != "strangers") {
        check_operation(row);
        return check_limit(row);
    }
    check_rounds(row);
    expect(number(row, "times_alone") > 0, "no quotient", row);
    expect(number(row, "connections_per_second") > 0, "no stranger came", row);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    std::ifstream file(argv[1]);
    const Json report = Json::parse(file, nullptr, false);
    if (!report.is_object() || !report.value("benchmarks", Json()).is_array()) {
        fmt::print("this is no report\n");
        return EXIT_FAILURE;
    }
    std::map<std::string, unsigned> rows;
    for (const Json& row : report["benchmarks"]) {
        const std::string all = row.value("run_name", "");
        const std::string name = all.substr(0, all.find('/'));
        ++rows[name];
        check_row(row, name);
    }
    const std::map<std::string, unsigned> wanted{{"persist", 8},  {"deep_persist", 4}, {"read", 4},
                                                 {"flush", 8},    {"open", 2},         {"idle", 2},
                                                 {"strangers", 1}};
    expect(rows == wanted, "there are other rows than those wanted", Json(rows));
    expect(!report["context"].value("librpmem", "").empty(), "the library is not named",
           report["context"]);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
