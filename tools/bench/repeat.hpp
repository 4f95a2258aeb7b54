// The loop of every measurement.
#pragma once

#include "common/base/result.hpp"
#include "tools/bench/samples.hpp"

#include <cstdint>

namespace rpmem::bench {

// One operation after the other for about DURATION, and at least LEAST of them. OPERATION returns
// a Result<>.
template <typename Operation>
Result<Samples> repeat(Nanoseconds duration, std::uint64_t least, Operation operation) {
    Samples samples;
    samples.nanoseconds.reserve(4096);
    const Nanoseconds begin = now();
    for (Nanoseconds time = begin, started = begin;
         time - begin < duration || samples.nanoseconds.size() < least; started = time) {
        RPMEM_TRY(operation());
        time = now();
        samples.nanoseconds.push_back(static_cast<std::uint64_t>((time - started).count()));
    }
    samples.elapsed = now() - begin;
    return samples;
}

} // namespace rpmem::bench
