// SPDX-License-Identifier: BSD-3-Clause
// How comparing and catching up report their progress to the log.
#pragma once

#include "common/wire/frame.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace rpmem::initiator {

inline constexpr std::chrono::seconds progress_interval(10);

// Interval at which the statistics get what the replica lacks. Counting takes about 1 ms for each
// TiB of the pool.
inline constexpr std::chrono::seconds show_interval(1);

inline std::string amount(std::size_t blocks) {
    return fmt::format("{} blocks ({} KiB)", blocks, blocks * (wire::digest_block / 1024));
}

} // namespace rpmem::initiator
