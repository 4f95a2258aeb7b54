// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/headers/header_recovery.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

namespace rpmem::target {
namespace {

std::span<const std::byte, header_size> bytes_of(const PoolHeader& header) {
    return std::as_bytes(std::span<const PoolHeader, 1>(&header, 1));
}

// Returns the offset of the first byte that is neither from BEFORE nor from AFTER. An interrupted
// write leaves no such byte.
std::optional<std::size_t> foreign_byte(const PoolHeader& header, const PoolHeader& before,
                                        const PoolHeader& after) {
    const auto bytes = bytes_of(header);
    for (std::size_t i = 0; i < header_size; ++i)
        if (bytes[i] != bytes_of(before)[i] && bytes[i] != bytes_of(after)[i])
            return i;
    return std::nullopt;
}

unsigned value_at(const PoolHeader& header, std::size_t offset) {
    return std::to_integer<unsigned>(bytes_of(header)[offset]);
}

// Returns the attributes that are the same in all parts.
rpmem_pool_attr shared_attributes(const PoolHeader& header) {
    rpmem_pool_attr attributes = attributes_of(header);
    std::ranges::fill(attributes.uuid, static_cast<unsigned char>(0));
    return attributes;
}

bool are_same(const rpmem_pool_attr& left, const rpmem_pool_attr& right) {
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

bool has_at_most_two_versions(std::span<const PoolHeader> headers) {
    const auto first = shared_attributes(headers[0]);
    std::optional<rpmem_pool_attr> other;
    for (const auto& header : headers) {
        const auto attributes = shared_attributes(header);
        if (are_same(attributes, first))
            continue;
        if (!other)
            other = attributes;
        if (!are_same(attributes, *other))
            return false;
    }
    return true;
}

// Returns whether the links between the parts other than part 0 are the same. A change of the
// attributes changes the UUID of part 0 only.
bool links_stay(std::span<const PoolHeader> old_headers, std::span<const PoolHeader> new_headers) {
    const std::size_t count = old_headers.size();
    for (std::size_t i = 1; i < count; ++i)
        if ((i > 1 && old_headers[i].previous_part_uuid != new_headers[i].previous_part_uuid) ||
            (i + 1 < count && old_headers[i].next_part_uuid != new_headers[i].next_part_uuid))
            return false;
    return true;
}

} // namespace

bool are_same_headers(const PoolHeader& left, const PoolHeader& right) {
    return std::memcmp(&left, &right, sizeof(left)) == 0;
}

bool is_torn(const PoolHeader& header) {
    return !is_all_zero(header) && header.checksum != header_checksum(header);
}

bool has_torn(std::span<const PoolHeader> headers) { return std::ranges::any_of(headers, is_torn); }

Result<std::vector<PoolHeader>> restore_torn(std::vector<PoolHeader> headers,
                                             const HeaderCopy& copy) {
    if (copy.before.size() != headers.size())
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the copy of its headers is of a pool with {} headers, and this one has {}",
                    copy.before.size(), headers.size());
    for (std::size_t i = 0; i < headers.size(); ++i)
        if (const auto at = foreign_byte(headers[i], copy.before[i], copy.after[i]))
            return fail(
                ErrorClass::caller_fault, EINVAL,
                "the copy of its headers belongs to other headers: byte {} of the header of "
                "part {} is {:#04x}, the copy has {:#04x} or {:#04x}",
                *at, i, value_at(headers[i], *at), value_at(copy.before[i], *at),
                value_at(copy.after[i], *at));
    for (std::size_t i = 0; i < headers.size(); ++i)
        if (is_torn(headers[i]))
            headers[i] = copy.after[i];
    return headers;
}

std::vector<PoolHeader> follow_first(std::vector<PoolHeader> headers) {
    const bool whole = std::ranges::none_of(
        headers, [](const PoolHeader& header) { return is_all_zero(header) || is_torn(header); });
    if (headers.size() < 2 || !whole || !has_at_most_two_versions(headers))
        return headers;
    auto rewritten = rewrite_headers(headers, attributes_of(headers[0]));
    const bool one_pool =
        are_same_headers(rewritten[0], headers[0]) && links_stay(headers, rewritten);
    return one_pool ? rewritten : headers;
}

} // namespace rpmem::target
