// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/identity.hpp"

#include "common/base/hex.hpp"
#include "common/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::compare {
namespace {

// Offsets and lengths in a pool header, see rpmemd/pools/headers/pool_header.hpp.
constexpr std::size_t signature_length = 8;
constexpr std::size_t uuid_begin = 24;
constexpr std::size_t uuid_length = 16;

bool is_printable(char character) { return character >= ' ' && character <= '~'; }

std::string described(const std::optional<Identity>& identity) {
    return identity ? fmt::format("signature {}, poolset_uuid {}", identity->signature,
                                  identity->poolset_uuid)
                    : "no pool header";
}

} // namespace

std::optional<Identity> identity_in(std::span<const std::byte> first_page) {
    if (first_page.size() < header_length)
        return std::nullopt;
    std::string signature(fixed_text(text_of(first_page.first(signature_length))));
    const auto uuid = first_page.subspan(uuid_begin, uuid_length);
    const bool has_uuid =
        std::ranges::any_of(uuid, [](std::byte byte) { return byte != std::byte{0}; });
    if (signature.empty() || !std::ranges::all_of(signature, is_printable) || !has_uuid)
        return std::nullopt;
    return Identity{std::move(signature), hex_of(uuid)};
}

std::vector<std::string> mismatches(const Side& local, const Side& remote, std::uint64_t needed) {
    std::vector<std::string> reasons;
    if (remote.has_header && local.identity != remote.identity)
        reasons.push_back(fmt::format("{} is not this pool: it has {}, the pool has {}", local.name,
                                      described(local.identity), described(remote.identity)));
    if (local.size > remote.size)
        reasons.push_back(fmt::format("{} has {} bytes, {} more than the pool, which has {}",
                                      local.name, local.size, local.size - remote.size,
                                      remote.size));
    if (local.size < remote.size && (needed > local.size || needed == 0))
        reasons.push_back(fmt::format("{} has {} bytes, {} fewer than the pool, which has {}",
                                      local.name, local.size, remote.size - local.size,
                                      remote.size));
    return reasons;
}

} // namespace rpmem::compare
