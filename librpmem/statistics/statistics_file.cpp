// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/statistics_file.hpp"

#include "common/statistics/exposition_file.hpp"
#include "librpmem/link.hpp"
#include "librpmem/statistics/prometheus.hpp"

#include <exception>
#include <vector>

namespace rpmem::initiator {
namespace {

// Opened anew in each round: a child made by fork(2) has a file of its own, and the directory may
// come later.
Result<> write_or_remove(const std::string& directory, const std::vector<PoolSnapshot>& pools,
                         bool is_last) {
    RPMEM_ASSIGN(const auto file, statistics::ExpositionFile::open(directory, "librpmem"));
    if (!is_last)
        return file.replace(metrics_of(pools));
    file.remove();
    return {};
}

} // namespace

void write_statistics(const std::string& directory, Log& log, std::span<Link* const> links,
                      std::unique_lock<std::mutex>& lock) noexcept {
    try {
        std::vector<PoolSnapshot> pools;
        for (const Link* const link : links)
            if (auto pool = link->statistics())
                pools.push_back(*pool);
        const bool is_last = links.empty();
        lock.unlock();
        const auto done = write_or_remove(directory, pools, is_last);
        if (!done)
            log.error_of_kind("statistics", "RPMEM_STATS_DIR: " + done.error().text);
    } catch (const std::exception&) { // no memory; there is another round
    }
    if (!lock.owns_lock())
        lock.lock();
}

} // namespace rpmem::initiator
