// Of a session, for whoever waits for its lanes.
#pragma once

#include <functional>

namespace rpmem::initiator {

struct LossWatch {
    int fd;                        // readable: it may be lost
    std::function<bool()> is_lost; // looks, for a moment at least; from any thread; must not throw
};

} // namespace rpmem::initiator
