// The same work in several threads that start together.
#pragma once

#include "base/result.hpp"

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

} // namespace rpmem::bench
