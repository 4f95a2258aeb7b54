// The General Purpose Server Persistency Method: the target's CPU makes ranges durable and answers.
#pragma once

#include "base/hot.hpp"
#include "lanes/lane.hpp"

namespace rpmem::general_purpose {

RPMEM_HOT int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int deep_persist(Lane& lane, std::size_t offset, std::size_t length);

// A flush confirms itself: towards a peer of protocol 0.1 there is nothing to gain by waiting.
RPMEM_HOT int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
RPMEM_HOT int drain(Lane& lane);

} // namespace rpmem::general_purpose
