// SPDX-License-Identifier: BSD-3-Clause
// The file of this process for Prometheus: see RPMEM_STATS_DIR in librpmem(7).
#pragma once

#include "common/base/log.hpp"

#include <chrono>
#include <mutex>
#include <span>
#include <string>

namespace rpmem::initiator {

class Link;

// Prometheus asks every 15 seconds, as a rule.
inline constexpr std::chrono::seconds statistics_interval(10);

// One round of a LinkThread: writes what the pools of LINKS have counted; without links, removes
// the file. LOG: what is wrong with that. The disk is used without LOCK, so that other pools can be
// opened and closed meanwhile.
void write_statistics(const std::string& directory, Log& log, std::span<Link* const> links,
                      std::unique_lock<std::mutex>& lock) noexcept;

} // namespace rpmem::initiator
