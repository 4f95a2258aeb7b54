// The Appliance Persistency Method: what has reached the target's memory is durable, and a read
// behind the writes shows that it has.
#pragma once

#include "lanes/lane.hpp"

namespace rpmem::appliance {

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int deep_persist(Lane& lane, std::size_t offset, std::size_t length);
int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int drain(Lane& lane);

// A warning, where the target allows this method in vain.
inline constexpr const char* not_over_tcp =
    "the target allows the appliance method (persist-apm), and this session uses the general "
    "purpose "
    "one: over tcp data stay in the processor's caches there, which are lost with the power";

} // namespace rpmem::appliance
