// The General Purpose Server Persistency Method: the target's CPU makes ranges durable and answers.
#pragma once

#include "lanes/lane.hpp"

namespace rpmem::general_purpose {

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int deep_persist(Lane& lane, std::size_t offset, std::size_t length);

// A flush confirms itself: towards a peer of protocol 0.1 there is nothing to gain by waiting.
int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed);
int drain(Lane& lane);

} // namespace rpmem::general_purpose
