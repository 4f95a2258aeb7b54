// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/pool_request.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

namespace rpmem::initiator {
namespace {

// Returns the number of lanes that the limit on descriptors allows if all lanes are connected at
// once: each takes several descriptors, and the application needs some too. A lane that is
// connected at its first use reports the limit then.
unsigned lanes_for_descriptors(bool all_at_once) {
    if (!all_at_once)
        return UINT_MAX;
    constexpr rlim_t descriptors_each = 16;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT_MAX;
    return static_cast<unsigned>(
        std::clamp<rlim_t>(limit.rlim_cur / descriptors_each, 1, UINT_MAX));
}

} // namespace

unsigned lanes_to_ask(unsigned wanted, const ProviderChoice& choice, const Settings& settings,
                      const std::optional<wire::Hello>& hello) {
    return std::min({wanted, choice.fabric ? choice.fabric->max_lanes : wanted,
                     settings.max_lanes.value_or(wanted), lanes_for_descriptors(!hello),
                     hello ? hello->lanes : wanted});
}

Result<> check_answer(const wire::InBandAttributes& in_band, const RequestedPool& asked,
                      const wire::Agreement& agreement) {
    const auto bad = [](std::string what) {
        return fail(ErrorClass::target_refused, EBADMSG,
                    "rpmemd violated the protocol: its response contains {}", what);
    };
    if (in_band.port == 0 || in_band.port > UINT16_MAX)
        return bad(fmt::format("port {}; 1 to {} are allowed", in_band.port, UINT16_MAX));
    const bool has_access = !agreement.lane_frames || in_band.rkey != 0;
    if (in_band.method == wire::PersistMethod::appliance &&
        (asked.provider == wire::Provider::tcp || !has_access))
        return bad(fmt::format("persist method {} (appliance), which needs direct access to the "
                               "pool, and this session has none",
                               static_cast<unsigned>(in_band.method)));
    if (in_band.lanes == 0 || in_band.lanes > asked.lanes)
        return bad(fmt::format("{} lanes; 1 to {}, as requested, are allowed", in_band.lanes,
                               asked.lanes));
    if (in_band.raddr > UINT64_MAX - asked.size)
        return bad(fmt::format("remote address {:#x}; with a pool of {} bytes the maximum is {:#x}",
                               in_band.raddr, asked.size, UINT64_MAX - asked.size));
    return {};
}

} // namespace rpmem::initiator
