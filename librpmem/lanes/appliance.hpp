// The Appliance Persistency Method: what has reached the target's memory is durable, and a read
// behind the writes shows that it has.
#pragma once

#include "lanes/lane.hpp"

namespace rpmem::appliance {

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int deep_persist(Lane& lane, std::size_t offset, std::size_t length);
int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int drain(Lane& lane);

} // namespace rpmem::appliance
