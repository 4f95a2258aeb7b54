// The first words of a session: a bare status for peers of protocol 0.1, a hello for newer ones.
#pragma once

#include "base/result.hpp"
#include "wire/hello.hpp"

#include <optional>

namespace rpmem::target {

// What both ends know of each other. By default: a peer of protocol 0.1.
struct Agreement {
    bool knows_hello = false;              // may ask for any provider
    std::optional<wire::Token> lane_token; // lanes must bring it
    unsigned messages = 1;                 // in flight on a lane
    bool counted_answers = false;          // see wire::capability_pipelining
};

// OFFER: the value of RPMEMD_OFFER, or null. Writes the status or the hello to OUTPUT; reads the
// answer to a hello from INPUT.
Result<Agreement> greet(const char* offer, int input, int output);

} // namespace rpmem::target
