// SPDX-License-Identifier: BSD-3-Clause
// The part of FabricConnection that uses registered memory: lent memory, and direct access.
#include "common/transport/fabric/fabric_connection.hpp"

#include <utility>

namespace rpmem::transport {

bool FabricConnection::lend(std::span<std::byte> memory) {
    lent_ = {};
    lent_region_ = {};
    if (memory.empty())
        return false;
    auto region = fabric::register_memory(domain_, provider_, memory.data(), memory.size(),
                                          fabric::Access::local);
    if (!region)
        return false;
    lent_region_ = std::move(*region);
    lent_ = memory;
    return true;
}

bool FabricConnection::reaches(std::span<const std::byte> place) const {
    return !provider_.local_registration || is_within(place, pool_.memory) ||
           is_within(place, sends_.behind);
}

PostResult FabricConnection::write(std::uint64_t offset, std::span<const std::byte> piece) {
    if (!can_send() || is_full())
        return can_send() ? PostResult::full : PostResult::ended;
    const PostResult done =
        posted(endpoint_.post_write(piece.data(), piece.size(), pool_.descriptor,
                                    {pool_.remote->address + offset, pool_.remote->key}, &write_));
    writes_ += done == PostResult::yes ? 1 : 0;
    return done;
}

PostResult FabricConnection::read(std::uint64_t offset, std::span<std::byte> place) {
    if (!can_send() || is_full())
        return can_send() ? PostResult::full : PostResult::ended;
    if (place.empty())
        place = sends_.behind.first(unwanted);
    void* const descriptor = is_within(place, sends_.behind)  ? sends_.region.descriptor()
                             : is_within(place, pool_.memory) ? pool_.descriptor
                                                              : nullptr;
    const PostResult done =
        posted(endpoint_.post_read(place.data(), place.size(), descriptor,
                                   {pool_.remote->address + offset, pool_.remote->key}, &read_));
    reads_ += done == PostResult::yes ? 1 : 0;
    return done;
}

} // namespace rpmem::transport
