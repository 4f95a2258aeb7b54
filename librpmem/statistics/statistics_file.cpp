// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/statistics/statistics_file.hpp"

#include "common/statistics/exposition.hpp"
#include "librpmem/link.hpp"
#include "librpmem/statistics/prometheus.hpp"

#include <unistd.h>

#include <exception>
#include <vector>

namespace rpmem::initiator {
namespace {

void replace(const std::string& directory, const std::string& name, Log& log,
             const std::vector<PoolSnapshot>& pools) {
    const auto written = statistics::replace_file(directory, name, metrics_of(pools));
    if (!written)
        log.error_of_kind("statistics", "RPMEM_STATS_DIR: " + written.error().text);
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
        const std::string name = fmt::format("librpmem-{}.prom", ::getpid());
        if (is_last)
            static_cast<void>(::unlink((directory + "/" + name).c_str()));
        else
            replace(directory, name, log, pools);
    } catch (const std::exception&) { // no memory; there is another round
    }
    if (!lock.owns_lock())
        lock.lock();
}

} // namespace rpmem::initiator
