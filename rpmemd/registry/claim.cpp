// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/claim.hpp"

namespace rpmem::target {

Result<PoolRecord> follow(const std::optional<PoolRecord>& last, PoolRecord next, bool goes_on,
                          bool created) {
    next.epoch = !last ? 1 : goes_on ? last->epoch : last->epoch + 1;
    next.written_epoch = next.epoch;
    if (!last || created) {
        transport::SystemRandom random;
        RPMEM_TRY(random.fill(next.id));
        return next;
    }
    next.id = last->id;
    next.failure = last->failure;
    next.behind_since = last->behind_since;
    next.catching_up_since = last->catching_up_since;
    if (!goes_on && !last->closed && next.behind_since == 0)
        next.behind_since = last->since;
    // The claim began with the session of generation 0, which this one resumes.
    if (goes_on)
        next.since = last->since;
    return next;
}

} // namespace rpmem::target
