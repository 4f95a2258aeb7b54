// SPDX-License-Identifier: BSD-3-Clause
// Prepares the comparison of a local pool with one on a target: whether they are the same pool, and
// which bytes can be compared.
#pragma once

#include "tools/compare/local_pool.hpp"

#include <string>
#include <vector>

namespace rpmem::compare {

struct Preparation {
    std::vector<std::string> mismatches{};   // reasons why LOCAL is not an image of the pool
    std::uint64_t length = 0;                // the smaller of both sizes
    Ranges excluded{};                       // bytes that are never replicated
    std::string excluded_text{};             // their description, an element of not_compared
    std::vector<std::string> not_compared{}; // descriptions of the bytes that are not compared
};

// Fails if LOCAL cannot be read. Mismatches are no failure.
[[nodiscard]] Result<Preparation> prepare(const LocalPool& local, const Side& remote);

// Includes the excluded bytes in the comparison, because the target's rpmemd is too old to exclude
// ranges.
void include_all(Preparation& preparation);

} // namespace rpmem::compare
