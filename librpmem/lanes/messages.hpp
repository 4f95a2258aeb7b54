// How persist messages travel on the lanes of a pool.
#pragma once

#include "wire/hello.hpp"

#include <cstddef>
#include <optional>

namespace rpmem {

struct Messages {
    std::size_t inline_size; // bytes of data in one
    unsigned in_flight;      // on a lane
    bool counted_answers;    // see wire::capability_pipelining
};

// What both ends can do. HELLO is nothing for a peer of protocol 0.1.
Messages agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes);

} // namespace rpmem
