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
                    "rpmemd broke the protocol: its response contains an invalid value: {}", what);
    };
    if (in_band.port == 0 || in_band.port > UINT16_MAX)
        return bad(fmt::format("port {}", in_band.port));
    const bool has_access = !agreement.lane_frames || in_band.rkey != 0;
    if (in_band.method == wire::PersistMethod::appliance &&
        (asked.provider == wire::Provider::tcp || !has_access))
        return bad(fmt::format("persist method {}", static_cast<unsigned>(in_band.method)));
    if (in_band.lanes == 0 || in_band.lanes > asked.lanes)
        return bad(fmt::format("{} lanes, but {} were requested", in_band.lanes, asked.lanes));
    if (in_band.raddr > UINT64_MAX - asked.size)
        return bad(fmt::format("remote address {:#x}", in_band.raddr));
    return {};
}

} // namespace rpmem::initiator
