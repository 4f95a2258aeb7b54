// What Google Benchmark reports of the cases, as a table or as JSON.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/options.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

namespace rpmem::bench {

void note(const std::string& text);

// Of all that Google Benchmark makes of the rounds of a case it reports the median, and beside it
// the best of them.
class Report : public benchmark::BenchmarkReporter {
public:
    explicit Report(const Options& options);
    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override { inner_->Finalize(); }

private:
    std::unique_ptr<benchmark::BenchmarkReporter> inner_;
};

// Prints the medians of two reports side by side, as a table in Markdown. Rows that only one of
// them has are left out.
[[nodiscard]] Result<> compare_reports(const std::string& first, const std::string& second);

} // namespace rpmem::bench
