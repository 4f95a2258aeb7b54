// SPDX-License-Identifier: BSD-3-Clause
// How comparing and catching up report their progress to the log.
#pragma once

#include "common/wire/frame.hpp"

#include <chrono>
#include <cstddef>

namespace rpmem::initiator {

inline constexpr std::chrono::seconds progress_interval(10);

constexpr std::size_t mebibytes_of(std::size_t blocks) {
    return blocks * wire::digest_block / (std::size_t{1} << 20);
}

} // namespace rpmem::initiator
