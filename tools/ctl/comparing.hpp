// SPDX-License-Identifier: BSD-3-Clause
// Compares a local pool with one on the target: first the identities, then the digests.
#pragma once

#include "tools/compare/digests.hpp"
#include "tools/compare/preparation.hpp"
#include "tools/ctl/pool_claim.hpp"
#include "tools/ctl/verbs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace rpmem::ctl {

struct Comparison {
    compare::Preparation preparation{};
    compare::PoolDigests pool{};
    std::vector<std::size_t> chunks{}; // indices of the chunks that differ
    PoolClaim claim{};                 // claim on the pool when the digests were computed

    // Returns the number of bytes in these chunks.
    [[nodiscard]] std::uint64_t differing() const;
    // Returns these chunks as ranges, with adjacent ones joined.
    [[nodiscard]] std::vector<compare::Range> ranges() const;
};

// A failure is an answer with the exit status of rpmemctl.
template <typename T>
using Answered = tl::expected<T, ActionAnswer>;

// The pool on the target, according to its header and its record.
struct RemotePool {
    compare::Side side{};
    PoolClaim claim{};
};
// Returns the size, the identity and the claim of the pool on the target. Fails with the target's
// reason if the pool cannot be opened.
[[nodiscard]] Answered<RemotePool> ask_pool(const Context& context);

// Fails with status_differs if LOCAL is not an image of the pool, unless the command has --force.
[[nodiscard]] Answered<compare::Preparation> prepare_comparison(const Context& context,
                                                                const compare::LocalPool& local,
                                                                const compare::Side& remote);

// Gets the digests of the pool. Fails with ESTALE if its claim is not BEFORE any more. If the
// target's rpmemd cannot leave out ranges, all bytes are compared, and not_compared states that.
[[nodiscard]] Answered<Comparison>
ask_for_digests(const Context& context, compare::Preparation preparation, const PoolClaim& before);

// Finds the chunks of LOCAL that differ from the digests.
[[nodiscard]] Result<Comparison>
find_differences(const Context& context, const compare::LocalPool& local, Comparison comparison);

// Returns the answer for an error of this program.
[[nodiscard]] ActionAnswer answer_of(const Error& error);

} // namespace rpmem::ctl
