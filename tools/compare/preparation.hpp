// SPDX-License-Identifier: BSD-3-Clause
// Before a pool here and one on a target are compared: whether they are the same pool, and which
// bytes can be compared.
#pragma once

#include "tools/compare/local_pool.hpp"

#include <string>
#include <vector>

namespace rpmem::compare {

struct Preparation {
    std::vector<std::string> mismatches{}; // why LOCAL is not an image of the pool; none: it is one
    std::uint64_t length = 0;              // bytes from the beginning that both have
    Ranges excluded{};                     // bytes that never are replicated
    // What is not compared, one text for each kind.
    std::vector<std::string> not_compared{};
};

[[nodiscard]] Result<Preparation> prepare(const LocalPool& local, const Side& remote);

} // namespace rpmem::compare
