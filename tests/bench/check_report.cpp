// check_report FILE: is the JSON of rpmem-bench whole, and do its figures fit each other? How large
// they are is not looked at, but for what is used while nothing is done.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace {

using Json = nlohmann::json;

int faults = 0;
double target_cpu = 0; // in a short measurement the kernel may not count any

void expect(bool fact, const std::string& text) {
    if (fact)
        return;
    fmt::print("{}\n", text);
    ++faults;
}

double number(const Json& json, const char* name) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_number())
        return found->get<double>();
    expect(false, fmt::format("there is no {} in {}", name, json.dump()));
    return 0;
}

void check_series(const Json& series) {
    const double least = number(series, "min_us");
    const double best = number(series, "best_round_us");
    const double median = number(series, "median_us");
    const double p99 = number(series, "p99_us");
    const std::string text = series.dump();
    expect(number(series, "operations") >= 2, "too few operations: " + text);
    expect(least > 0 && least <= best && best <= median, "the median is too small: " + text);
    expect(least <= p99 && p99 <= number(series, "p99_9_us"),
           "quantiles are not in order: " + text);
    expect(number(series, "operations_per_second") > 0, "no rate: " + text);
}

// Both sides sleep: they neither spin nor wake up again and again.
void check_idle(const Json& row) {
    constexpr double most_ms_each_second = 10;
    const double seconds = number(row, "seconds");
    const double own = number(row, "own_cpu_ms");
    const double target = number(row, "target_cpu_ms");
    expect(seconds == 1, "idle took another time: " + row.dump());
    expect(own >= 0 && target >= 0, "no processor time: " + row.dump());
    expect(own + target <= most_ms_each_second * seconds,
           "too much processor time for nothing: " + row.dump());
}

void check_row(const Json& row, const std::string& name) {
    const bool one_lane = row.value("lanes", 0) == 1;
    if (name == "idle") {
        check_idle(row);
        return;
    }
    if (name == "memory") {
        expect(number(row, "private_kib") > 0, "a daemon without memory: " + row.dump());
        if (!one_lane)
            expect(number(row, "lanes") == 256 && number(row, "each_lane_kib") > 0,
                   "lanes without memory: " + row.dump());
        return;
    }
    if (name != "limits")
        check_series(row.value("ours", Json::object()));
    const Json limits = row.value("limits", Json::object());
    expect(!limits.empty() || name == "close" || name == "connect1024",
           "nothing to compare with: " + row.dump());
    for (const Json& limit : limits) {
        check_series(limit);
        if (name != "limits")
            expect(number(limit, "share") > 0, "no share: " + row.dump());
    }
    if (name == "strangers")
        expect(number(row, "connections_each_s") > 0, "no stranger came: " + row.dump());
    if (name == "persist" || name == "read") {
        expect(number(row["ours"], "cpu_us") > 0, "no processor time of ours: " + row.dump());
        target_cpu += number(row["ours"], "other_side_cpu_us");
        const std::size_t wanted = one_lane && name == "read" ? 1 : 2;
        expect(limits.size() == wanted, "not all limits were measured: " + row.dump());
    }
    if (name == "create" || name == "open")
        expect(number(row, "lanes_in_force") == 2 && number(row, "target_threads") >= 1,
               "the daemon was not found: " + row.dump());
    if (name == "connect1024")
        expect(number(row, "lanes") == 1024 && number(row, "first_use_ms") > 0,
               "not all lanes were used: " + row.dump());
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    std::ifstream file(argv[1]);
    const Json report = Json::parse(file, nullptr, false);
    if (!report.is_object() || !report.value("rows", Json()).is_array()) {
        fmt::print("this is no report\n");
        return EXIT_FAILURE;
    }
    std::map<std::string, unsigned> rows;
    for (const Json& row : report["rows"]) {
        const std::string name = row.value("case", "");
        ++rows[name];
        check_row(row, name);
    }
    const std::map<std::string, unsigned> wanted{
        {"limits", 3},   {"create", 1},    {"open", 1},   {"close", 1},      {"persist", 8},
        {"read", 4},     {"flush4", 4},    {"push", 2},   {"pull", 2},       {"idle", 1},
        {"replicas", 1}, {"strangers", 1}, {"memory", 2}, {"connect1024", 1}};
    for (const auto& [name, count] : wanted)
        expect(rows[name] == count, fmt::format("{} rows of {}, not {}", rows[name], name, count));
    expect(target_cpu > 0, "the target's processor time was not measured");
    expect(!report["machine"].value("library", "").empty(), "the library is not named");
    expect(report.value("notes", Json::array()).empty(), "notes: " + report["notes"].dump());
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
