// SPDX-License-Identifier: BSD-3-Clause
// Compares a pool here with one on the target: asks for its identity, then for its digests.
#pragma once

#include "tools/compare/digests.hpp"
#include "tools/compare/preparation.hpp"
#include "tools/ctl/verbs.hpp"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace rpmem::ctl {

struct Comparison {
    compare::Preparation preparation{};
    compare::PoolDigests pool{};
    std::vector<std::size_t> chunks{}; // the ones that differ

    [[nodiscard]] std::uint64_t differing() const; // bytes
    // Neighbouring chunks together.
    [[nodiscard]] std::vector<compare::Range> ranges() const;
};

// The failure is an answer, with the status that rpmemctl ends with.
template <typename T>
using Answered = tl::expected<T, ActionAnswer>;

// The pool on the target, as its header says.
[[nodiscard]] Answered<compare::Side> ask_side(const Context& context);

// status_differs if LOCAL is not an image of the pool, unless the command says --force.
[[nodiscard]] Answered<compare::Preparation> prepare_comparison(const Context& context,
                                                                const compare::LocalPool& local,
                                                                const compare::Side& remote);

// Gets the digests of the pool. If the target's rpmemd cannot leave out ranges, all is compared,
// and the preparation says so.
[[nodiscard]] Answered<Comparison> ask_for_digests(const Context& context,
                                                   compare::Preparation preparation);

// Finds the chunks of LOCAL that differ from the digests.
[[nodiscard]] Result<Comparison>
find_differences(const Context& context, const compare::LocalPool& local, Comparison comparison);

// The answer for a failure of this side.
[[nodiscard]] ActionAnswer answer_of(const Error& error);

} // namespace rpmem::ctl
