// SPDX-License-Identifier: BSD-3-Clause
// The bounds of RPMEM_CATCH_UP_RATE and of `rpmemctl rate`, in bytes per second.
#pragma once

#include <cstdint>

namespace rpmem::initiator {

inline constexpr std::uint64_t min_catch_up_rate = 65536;
inline constexpr std::uint64_t max_catch_up_rate = 1000000000000;

} // namespace rpmem::initiator
