// The cases that need a pool, and those that need none.
#pragma once

#include "tools/bench/limits.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/pool.hpp"
#include "tools/bench/report.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rpmem::bench {

class Cases {
public:
    Cases(const Options& options, const Limits& limits, Report& report)
        : options_(options), limits_(limits), report_(report) {}

    [[nodiscard]] Result<> run();

private:
    struct NamedTask {
        std::string name;
        LimitTask task;
    };
    using Measure = std::function<Result<Samples>()>;

    [[nodiscard]] Result<> run_with_pool(const Pool& pool);
    [[nodiscard]] Result<> persist(const Pool& pool);
    [[nodiscard]] Result<> read(const Pool& pool);
    [[nodiscard]] Result<> flush(const Pool& pool);
    [[nodiscard]] Result<> transfer(const Pool& pool, OperationKind kind);
    [[nodiscard]] Result<> idle(const Pool& pool);
    [[nodiscard]] Result<> limits();
    [[nodiscard]] Result<> operations(const Pool& pool, Row row, const Operation& operation);
    // Fills in ROW in rounds and adds it to the report.
    [[nodiscard]] Result<> in_rounds(Row row, const Measure& ours,
                                     const std::vector<NamedTask>& tasks);
    [[nodiscard]] Result<> measure_limit(Comparison& comparison, const LimitTask& task) const;
    // The same with each way to wait that fits the options.
    [[nodiscard]] std::vector<NamedTask> network_tasks(const LimitTask& task) const;
    // Of a large range, as it is pushed or pulled.
    [[nodiscard]] std::vector<NamedTask> stream_tasks(bool pull) const;
    [[nodiscard]] bool has_lanes(const Pool& pool, unsigned lanes);

    const Options& options_;
    const Limits& limits_;
    Report& report_;
    bool without_network_ = false;
};

} // namespace rpmem::bench
