// The same work in several threads that start together.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/clock.hpp"
#include "tools/bench/samples.hpp"

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

namespace rpmem::bench {

// WORK is called with 0 to COUNT-1 and returns a Result<>. With one thread it is the caller's. The
// first error, if there is one.
template <typename Work>
Result<> in_threads(unsigned count, Work work) {
    if (count == 1)
        return work(0U);
    std::vector<Result<>> results(count);
    std::barrier start(static_cast<std::ptrdiff_t>(count));
    {
        std::vector<std::jthread> threads;
        threads.reserve(count);
        for (unsigned i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                results[i] = work(i);
            });
    }
    for (Result<>& result : results)
        RPMEM_TRY(std::move(result));
    return {};
}

// WORK returns a Result<Samples>. All of them together; the time is that of the slowest thread.
template <typename Work>
Result<Samples> samples_of_threads(unsigned count, Work work) {
    std::vector<Samples> of_each(count);
    const Nanoseconds cpu = own_cpu_time();
    const Result<> done = in_threads(count, [&](unsigned i) -> Result<> {
        RPMEM_ASSIGN(of_each[i], work(i));
        return {};
    });
    RPMEM_TRY(done);
    Samples all = std::move(of_each.front());
    for (unsigned i = 1; i < count; ++i) {
        const std::vector<std::uint64_t>& values = of_each[i].nanoseconds;
        all.nanoseconds.insert(all.nanoseconds.end(), values.begin(), values.end());
        all.elapsed = std::max(all.elapsed, of_each[i].elapsed);
    }
    all.own_cpu = own_cpu_time() - cpu;
    return all;
}

} // namespace rpmem::bench
