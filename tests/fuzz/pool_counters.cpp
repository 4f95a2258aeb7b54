// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the statistics in the memfd of another process, which may contain anything. A crash,
// unordered quantiles, or a name without an end fails.
#include "librpmem/statistics/pool_snapshot.hpp"
#include "tests/fuzz/property.hpp"

#include <sys/mman.h>
#include <unistd.h>

using namespace rpmem;
using namespace rpmem::initiator;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const UniqueFd file(::memfd_create("counters", MFD_CLOEXEC));
    fuzz::require(::write(file.get(), data, size) == static_cast<ssize_t>(size), "it is written");
    if (size > sizeof(PoolCounterHeader)) // the size of a file with one lane
        fuzz::require(::ftruncate(file.get(), lanes_begin + sizeof(LaneCounters)) == 0, "it grows");
    const auto seen = read_counters(file.get());
    if (!seen)
        return 0;
    for (unsigned kind = 0; kind < call_kinds; ++kind) {
        const CallSummary summary = summarize(*seen, static_cast<CallKind>(kind));
        fuzz::require(summary.p50 <= summary.p99 && summary.p99 <= summary.max, "quantiles grow");
    }
    fuzz::require(text_in(seen->facts.name).size() <= seen->facts.name.size(), "a name ends");
    return 0;
}
