// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::compare {

Result<Preparation> prepare(const LocalPool& local, const Side& remote) {
    RPMEM_ASSIGN(const Side side, local.side());
    Preparation preparation;
    preparation.length = std::min(side.size, remote.size);
    auto unreplicated = find_unreplicated(local.bytes());
    if (remote.has_header)
        preparation.not_compared.push_back(
            fmt::format("the header, {} bytes, which differs in each replica", header_length));
    std::uint64_t needed = 0;
    if (!unreplicated) {
        preparation.mismatches.push_back(fmt::format(
            "{} cannot be read as a pool of libpmemobj: {}", side.name, unreplicated.error().text));
    } else {
        needed = unreplicated->needed;
        preparation.excluded = std::move(unreplicated->ranges);
        if (!preparation.excluded.empty()) {
            preparation.excluded_text = fmt::format(
                "{}, {} bytes in {} places, which is never replicated", unreplicated->kind,
                bytes_of(preparation.excluded), preparation.excluded.size());
            preparation.not_compared.push_back(preparation.excluded_text);
        }
    }
    if (side.size < remote.size)
        preparation.not_compared.push_back(
            fmt::format("{} bytes at the end of the pool that {} does not have",
                        remote.size - side.size, side.name));
    std::ranges::move(mismatches(side, remote, needed), std::back_inserter(preparation.mismatches));
    return preparation;
}

void include_all(Preparation& preparation) {
    preparation.excluded.clear();
    std::erase(preparation.not_compared, preparation.excluded_text);
}

} // namespace rpmem::compare
