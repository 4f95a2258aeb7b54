#include "tools/bench/memory.hpp"

#include "tools/bench/pool.hpp"

#include <thread>

namespace rpmem::bench {
namespace {

constexpr unsigned many_lanes = 256;

double in_kibibytes(double bytes) { return bytes / 1024; }

} // namespace

Result<> measure_memory(const Options& options, const Limits& limits, Report& report) {
    double with_one = 0;
    for (const unsigned lanes : {1U, many_lanes}) {
        RPMEM_ASSIGN(const auto pool,
                     Pool::create({options.target, options.pool_set, options.pool_size()}, lanes));
        RPMEM_TRY(pool->use_lanes());
        // What the last operation left to be done is not part of it.
        std::this_thread::sleep_for(settling_time);
        const Result<std::uint64_t> bytes = limits.daemon_memory();
        if (!bytes) {
            report.note(bytes.error().text);
            return {};
        }
        const auto measured = static_cast<double>(*bytes);
        Row row{.name = "memory",
                .variant = "",
                .lanes = pool->lanes(),
                .facts = {{"private_kib", in_kibibytes(measured)}}};
        if (lanes == 1)
            with_one = measured;
        else if (row.lanes > 1)
            row.facts.push_back(
                {"each_lane_kib", in_kibibytes((measured - with_one) / (row.lanes - 1))});
        report.add(std::move(row));
    }
    return {};
}

} // namespace rpmem::bench
