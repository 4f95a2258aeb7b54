#include "replicas.hpp"

#include "placement.hpp"

#include <array>
#include <span>

namespace rpmem::bench {
namespace {

constexpr Operation persist{OperationKind::persist, false, 4096};

using Pools = std::span<const Pool* const>;

// One range after the other, nothing else in between.
Result<Samples> in_turn(Pools pools, Nanoseconds duration) {
    Samples samples;
    samples.nanoseconds.reserve(4096);
    const Nanoseconds begin = now();
    for (Nanoseconds time = begin, started = begin;
         time - begin < duration || samples.nanoseconds.size() < least_operations; started = time) {
        for (const Pool* pool : pools)
            RPMEM_TRY(pool->perform(persist));
        time = now();
        samples.nanoseconds.push_back(static_cast<std::uint64_t>((time - started).count()));
    }
    samples.elapsed = now() - begin;
    return samples;
}

Result<> in_rounds(Row row, Pools pools, const Options& options, Report& report) {
    row.limits.push_back({"one_replica", {}});
    for (unsigned round = 0; round < options.rounds; ++round)
        for (const auto& [rounds, count] : {std::pair(&row.limits[0].rounds, std::size_t{1}),
                                            std::pair(&row.ours, pools.size())}) {
            Result<Samples> samples = in_turn(pools.first(count), options.time);
            if (!samples)
                return propagate(std::move(samples));
            rounds->push_back(std::move(*samples));
        }
    report.add(std::move(row));
    return {};
}

} // namespace

Result<> measure_replicas(const Pool& first, const Options& options, Report& report) {
    const auto second =
        Pool::create({options.target, options.second_pool_set, options.pool_size()}, first.lanes());
    if (!second)
        return Failure(second.error());
    const std::array<const Pool*, 2> pools{&first, second->get()};
    if (Result<Samples> warm = in_turn(pools, Nanoseconds::zero()); !warm)
        return propagate(std::move(warm));
    Row row{.name = "replicas", .variant = "free", .bytes = persist.size, .lanes = 1};
    RPMEM_TRY(in_rounds(row, pools, options, report));
    const std::array daemons{first.daemon(), (*second)->daemon()};
    const cpu_set_t processors = allowed_processors();
    if (options.no_spin || daemons[0] == 0 || daemons[1] == 0 || CPU_COUNT(&processors) < 2)
        return {};
    row.variant = "apart";
    const Apart apart(daemons);
    return in_rounds(row, pools, options, report);
}

} // namespace rpmem::bench
