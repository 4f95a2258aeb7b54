// SPDX-License-Identifier: BSD-3-Clause
// The claim of the last session that opened a pool on the target for writing. rpmemctl compares the
// claims before and after a transfer. If they differ, the data that were read or compared may be
// from two states of the pool.
#pragma once

#include "tools/ctl/verbs.hpp"

#include <tl/expected.hpp>

#include <cstdint>
#include <string>

namespace rpmem::ctl {

struct PoolClaim {
    std::string id{}; // 32 hexadecimal digits; empty: the pool has had no writer
    std::uint64_t epoch = 0;
    std::uint64_t generation = 0;
    std::string unknown{}; // why the claim is unknown; empty if it is known
    // The target has a mark that the pool may lack writes, or that it is catching up.
    bool is_marked = false;
    bool is_accepted = false; // an operator has accepted the pool, see rpmemctl accept

    [[nodiscard]] bool is_same_as(const PoolClaim& other) const {
        return id == other.id && epoch == other.epoch && generation == other.generation;
    }
    // Returns whether exactly one initiator has opened the pool for writing since BEFORE.
    [[nodiscard]] bool follows(const PoolClaim& before) const {
        return epoch == before.epoch + 1 && (before.id.empty() || id == before.id);
    }
};

// DOCUMENT is the target's answer to --info or --digest.
[[nodiscard]] PoolClaim read_claim(const nlohmann::json& document);

// Returns the failure ESTALE for a claim that has changed. Its text ends with CONSEQUENCE: what the
// user has now, and what to do.
[[nodiscard]] ActionAnswer stale_answer(const Context& context, const PoolClaim& before,
                                        const PoolClaim& now, const std::string& consequence);

// Asks the target again. Fails like stale_answer() unless the claim is still BEFORE or, if PUSHED,
// that of one later session. A claim that is unknown at either time is returned as unknown.
[[nodiscard]] tl::expected<PoolClaim, ActionAnswer> check_claim(const Context& context,
                                                                const PoolClaim& before,
                                                                bool pushed,
                                                                const std::string& consequence);

// Makes the target clear its marks that the pool may be behind and is catching up. It refuses with
// ESTALE if its claim is not CLAIM, because a session has then opened the pool for writing since it
// was found equal. FORGETS_ACCEPTED: also clears that an operator has accepted the pool.
[[nodiscard]] ActionAnswer mark_equal(const Context& context, const PoolClaim& claim,
                                      bool forgets_accepted = false);

} // namespace rpmem::ctl
