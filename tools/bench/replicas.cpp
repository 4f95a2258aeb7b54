#include "tools/bench/replicas.hpp"

#include "tools/bench/repeat.hpp"

#include <array>
#include <span>

namespace rpmem::bench {
namespace {

constexpr Operation persist{OperationKind::persist, false, 4096};

// One range after the other, nothing else in between.
Result<Samples> in_turn(std::span<const Pool* const> pools, Nanoseconds duration) {
    return repeat(duration, least_operations, [&]() -> Result<> {
        for (const Pool* pool : pools)
            RPMEM_TRY(pool->perform(persist));
        return {};
    });
}

} // namespace

Result<> measure_replicas(const Pool& first, const Options& options, Report& report) {
    RPMEM_ASSIGN(const auto second,
                 Pool::create({options.target, options.second_pool_set, options.pool_size()},
                              first.lanes()));
    const std::array<const Pool*, 2> pools{&first, second.get()};
    RPMEM_TRY(in_turn(pools, Nanoseconds::zero()));
    Row row{.name = "replicas", .variant = "", .bytes = persist.size, .lanes = 1};
    row.limits.push_back({"one_replica", {}});
    for (unsigned round = 0; round < options.rounds; ++round)
        for (const auto& [rounds, count] : {std::pair(&row.limits[0].rounds, std::size_t{1}),
                                            std::pair(&row.ours, pools.size())}) {
            RPMEM_ASSIGN(Samples samples, in_turn(std::span(pools).first(count), options.time));
            rounds->push_back(std::move(samples));
        }
    report.add(std::move(row));
    return {};
}

} // namespace rpmem::bench
