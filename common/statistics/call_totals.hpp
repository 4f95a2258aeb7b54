// SPDX-License-Identifier: BSD-3-Clause
// Calls of one kind, of all who made them.
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
