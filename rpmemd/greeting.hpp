// The first words of a session: a bare status for peers of protocol 0.1, a hello for newer ones.
#pragma once

#include "base/result.hpp"
#include "configuration/configuration.hpp"
#include "wire/hello.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// Most bytes of data in one message, of whatever protocol.
inline constexpr std::uint32_t most_inline_bytes = 512 * 1024;

// What both ends know of each other. By default: a peer of protocol 0.1.
struct Agreement {
    bool knows_hello = false;              // may ask for any provider
    std::optional<wire::Token> lane_token; // lanes must bring it
    unsigned messages = 1;                 // in flight on a lane
    bool counted_answers = false;          // see wire::capability_pipelining
    bool late_answers = false;             // see wire::capability_late_answers
    bool messages_only = false;            // see wire::capability_messages_only
    bool several_windows = false;          // see wire::capability_windows
    bool processors = false;               // see wire::capability_processors
    bool medium_failure = false;           // see wire::capability_medium_failure
    bool gathering = false;                // see wire::capability_gathering
};

// What this node has for clients, without loading libfabric: it takes a while, and may know
// better.
struct Offer {
    std::uint32_t providers = 0;        // see wire::Hello
    std::string why_not_verbs;          // empty: it is offered
    std::uint64_t conditions = 0;       // see wire::all_conditions
    std::vector<HostAddress> addresses; // see wire::Hello
};

// The address where ssh has arrived (empty: not known), and behind it those of the configuration.
std::vector<std::string> arrival_addresses(const std::string& of_ssh,
                                           const std::vector<std::string>& configured);

// ADDRESSES: where lanes may arrive; those that are no numbers are passed over. DEVICE as in
// Configuration.
Offer make_offer(const std::vector<std::string>& addresses, const std::string& device);
// Takes out what CONFIGURATION forbids, and adds the conditions that it makes.
void limit(Offer& offer, const Configuration& configuration);

// VALUE: that of RPMEMD_OFFER, or null. Writes the status or the hello, with OFFER, to OUTPUT;
// reads the answer to a hello from INPUT.
Result<Agreement> greet(const char* value, const Offer& offer, int input, int output);

} // namespace rpmem::target
