// SPDX-License-Identifier: BSD-3-Clause
// The calls of one kind, summed over all threads.
#pragma once

#include "common/statistics/latency.hpp"

#include <cstdint>

namespace rpmem::statistics {

struct CallTotals {
    std::uint64_t bytes = 0;
    std::uint64_t ticks = 0;
    Counts calls{};
};

} // namespace rpmem::statistics
