// SPDX-License-Identifier: BSD-3-Clause
// The claim of the last writer of a pool on the target. rpmemctl compares what it finds at the
// beginning and at the end of a transfer: if another writer came in between, what was read or
// compared is of two states of the pool.
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
    std::string unknown{};      // why the target does not report it; empty: it does
    bool may_be_behind = false; // the target has a mark that the pool may lack writes

    [[nodiscard]] bool is_same_as(const PoolClaim& other) const {
        return id == other.id && epoch == other.epoch && generation == other.generation;
    }
    // One session has opened the pool for writing after BEFORE, and no more.
    [[nodiscard]] bool follows(const PoolClaim& before) const {
        return epoch == before.epoch + 1 && (before.id.empty() || id == before.id);
    }
};

// DOCUMENT is the target's answer to --info or --digest.
[[nodiscard]] PoolClaim read_claim(const nlohmann::json& document);

// The failure is ESTALE. CONSEQUENCE ends its text: what the user has now, and what to do.
[[nodiscard]] ActionAnswer stale_answer(const Context& context, const PoolClaim& before,
                                        const PoolClaim& now, const std::string& consequence);

// Asks the target again. Fails like stale_answer() unless the claim is still BEFORE or, if PUSHED,
// that of one later session. A claim that is unknown at either time is returned as unknown.
[[nodiscard]] tl::expected<PoolClaim, ActionAnswer> check_claim(const Context& context,
                                                                const PoolClaim& before,
                                                                bool pushed,
                                                                const std::string& consequence);

// Has the target clear its mark that the pool may be behind. CLAIM proves that nobody has opened
// the pool for writing since it was found equal.
[[nodiscard]] ActionAnswer mark_equal(const Context& context, const PoolClaim& claim);

} // namespace rpmem::ctl
