// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/report.hpp"

#include <dlfcn.h>
#include <librpmem.h>
#include <unistd.h>

#include <iostream>
#include <string_view>

namespace rpmem::bench {
namespace {

// Where and with what a run takes place, beside what Google Benchmark says of the machine: without
// that its figures mean nothing.
void describe_run(const Options& options) {
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(&rpmem_open), &library) != 0 && library.dli_fname != nullptr)
        benchmark::AddCustomContext("librpmem", library.dli_fname);
    benchmark::AddCustomContext("target", options.target);
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (const std::string_view text(*variable);
            text.starts_with("RPMEM_") && !text.starts_with("RPMEM_TEST_"))
            benchmark::AddCustomContext(std::string(text.substr(0, text.find('='))),
                                        std::string(text.substr(text.find('=') + 1)));
}

using Run = benchmark::BenchmarkReporter::Run;

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

class Report : public benchmark::BenchmarkReporter {
public:
    explicit Report(std::unique_ptr<BenchmarkReporter> inner) : inner_(std::move(inner)) {}

    bool ReportContext(const Context& context) override {
        Context narrow = context;
        narrow.name_field_width = sizeof("persist/relaxed/1048576/lanes:1024_median");
        inner_->SetErrorStream(&std::cout); // what is said of the machine
        return inner_->ReportContext(narrow);
    }

    void ReportRuns(const std::vector<Run>& runs) override {
        // The median of the rounds, or the only one of them. One that was left out took no time.
        for (const Run& run : runs)
            if (run.real_accumulated_time > 0 &&
                (run.repetitions == 1 || run.aggregate_name == "median")) {
                Run completed = run;
                complete(completed, runs);
                inner_->ReportRuns({completed});
            }
        inner_->GetOutputStream().flush();
    }

    void Finalize() override { inner_->Finalize(); }

private:
    std::unique_ptr<BenchmarkReporter> inner_;
};

} // namespace

std::unique_ptr<benchmark::BenchmarkReporter> make_report(const Options& options) {
    using Console = benchmark::ConsoleReporter;
    describe_run(options);
    std::unique_ptr<benchmark::BenchmarkReporter> inner;
    if (options.json)
        inner = std::make_unique<benchmark::JSONReporter>();
    else
        inner = std::make_unique<Console>(Console::OO_Tabular);
    return std::make_unique<Report>(std::move(inner));
}

} // namespace rpmem::bench
