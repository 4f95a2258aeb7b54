#include "tools/bench/report.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <librpmem.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>

namespace rpmem::bench {
namespace {

using Json = nlohmann::json;

std::string library() {
    Dl_info found{};
    if (dladdr(reinterpret_cast<void*>(&rpmem_open), &found) == 0 || found.dli_fname == nullptr)
        return "unknown";
    std::error_code error;
    const auto path = std::filesystem::canonical(found.dli_fname, error);
    return error ? found.dli_fname : path.string();
}

// Where and with what a run takes place, beside what Google Benchmark says of the machine: without
// that its figures mean nothing.
void describe_run(const Options& options) {
    benchmark::AddCustomContext("librpmem", library());
    benchmark::AddCustomContext("target", options.target);
    benchmark::AddCustomContext("rounds", std::to_string(options.rounds));
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (const std::string_view text(*variable);
            text.starts_with("RPMEM_") && !text.starts_with("RPMEM_TEST_"))
            benchmark::AddCustomContext(std::string(text.substr(0, text.find('='))),
                                        std::string(text.substr(text.find('=') + 1)));
}

using Run = benchmark::BenchmarkReporter::Run;

// The median of the rounds, or the only one of them. One that was left out took no time.
bool stands_for_case(const Run& run) {
    return run.real_accumulated_time > 0 &&
           (run.repetitions == 1 || run.aggregate_name == "median");
}

// The way in which Google Benchmark goes about a case is the same for all of them. The processor
// time that it knows is that of a round.
void complete(Run& run, const std::vector<Run>& runs) {
    run.run_name.iterations.clear();
    run.run_name.repetitions.clear();
    run.run_name.time_type.clear();
    run.cpu_accumulated_time = run.counters["cpu_us"] / 1e6 * static_cast<double>(run.iterations);
    run.counters.erase("cpu_us");
    for (const Run& best : runs)
        if (best.aggregate_name == "best") {
            const double time = best.GetAdjustedRealTime();
            run.counters["best"] = time;
            if (const auto limit = best.counters.find("tcp_us"); limit != best.counters.end())
                run.counters["best_times_tcp"] = time / limit->second;
        }
}

Result<Json> read_rows(const std::string& path) {
    std::ifstream file(path);
    Json report = Json::parse(file, nullptr, false);
    if (!report.is_object() || !report.value("benchmarks", Json()).is_array())
        return fail(ErrorClass::caller_fault, EINVAL, "{} is no report of rpmem-bench --json",
                    path);
    return report["benchmarks"];
}

} // namespace

void note(const std::string& text) { fmt::print(stderr, "rpmem-bench: note: {}\n", text); }

Report::Report(const Options& options) {
    using Console = benchmark::ConsoleReporter;
    if (options.json)
        inner_ = std::make_unique<benchmark::JSONReporter>();
    else
        inner_ = std::make_unique<Console>(Console::OO_Tabular);
    describe_run(options);
}

bool Report::ReportContext(const Context& context) {
    constexpr std::size_t longest_name = sizeof("persist/relaxed/1048576/lanes:1024_median");
    Context narrow = context;
    narrow.name_field_width = longest_name;
    inner_->SetErrorStream(&std::cout); // what is said of the machine
    return inner_->ReportContext(narrow);
}

void Report::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs)
        if (stands_for_case(run)) {
            Run completed = run;
            complete(completed, runs);
            inner_->ReportRuns({completed});
        }
    inner_->GetOutputStream().flush();
}

Result<> compare_reports(const std::string& first, const std::string& second) {
    RPMEM_ASSIGN(const Json old_rows, read_rows(first));
    RPMEM_ASSIGN(const Json new_rows, read_rows(second));
    fmt::print("| case | first | second | second / first |\n|---|---|---|---|\n");
    for (const Json& row : new_rows) {
        for (const Json& old_row : old_rows) {
            if (row["name"] != old_row["name"])
                continue;
            const double before = old_row["real_time"];
            const double after = row["real_time"];
            const std::string unit = row["time_unit"];
            fmt::print("| {} | {:.1f} {} | {:.1f} {} | {:.2f} |\n", row["name"].get<std::string>(),
                       before, unit, after, unit, after / before);
        }
    }
    return {};
}

} // namespace rpmem::bench
