// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/report.hpp"

#include "tools/bench/measuring.hpp"

#include <dlfcn.h>
#include <librpmem.h>
#include <unistd.h>

#include <iostream>
#include <string_view>

namespace rpmem::bench {
namespace {

// Adds the target, the library and its settings to Google Benchmark's context. Without them the
// results cannot be interpreted.
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

// Completes RUN, the median of RUNS: adds the best round, and sets the processor time of one
// operation, because Google Benchmark measures that of a round. Removes the parameters of Google
// Benchmark from the name, because they are the same in all cases.
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

// Removes all quantiles except one, because a line of the table has no room for more.
void narrow(Run& run) {
    for (const Quantile& quantile : quantiles)
        if (quantile.name != std::string_view("p99_us"))
            run.counters.erase(quantile.name);
}

class Report : public benchmark::BenchmarkReporter {
public:
    explicit Report(const Options& options) : options_(options) {
        if (options.json)
            inner_ = std::make_unique<benchmark::JSONReporter>();
        else
            inner_ = std::make_unique<benchmark::ConsoleReporter>(
                benchmark::ConsoleReporter::OO_Tabular);
    }

    bool ReportContext(const Context& context) override {
        Context narrower = context;
        narrower.name_field_width = sizeof("persist/relaxed/1048576/lanes:1024_median");
        inner_->SetErrorStream(&std::cout); // for its facts about the machine
        return inner_->ReportContext(narrower);
    }

    void ReportRuns(const std::vector<Run>& runs) override {
        // Reports the median of the rounds, or the only round. A round that was left out has time
        // 0.
        for (const Run& run : runs)
            if (run.real_accumulated_time > 0 &&
                (run.repetitions == 1 || run.aggregate_name == "median")) {
                Run completed = run;
                complete(completed, runs);
                if (!options_.json)
                    narrow(completed);
                inner_->ReportRuns({completed});
            }
        inner_->GetOutputStream().flush();
    }

    void Finalize() override { inner_->Finalize(); }

private:
    const Options& options_;
    std::unique_ptr<BenchmarkReporter> inner_;
};

} // namespace

std::unique_ptr<benchmark::BenchmarkReporter> make_report(const Options& options) {
    describe_run(options);
    return std::make_unique<Report>(options);
}

} // namespace rpmem::bench
