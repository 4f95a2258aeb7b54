// SPDX-License-Identifier: BSD-3-Clause
// The first words of a session: a bare status for peers of protocol 0.1, a hello for newer ones.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/proof.hpp"
#include "common/wire/hello.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// Most bytes of data in one message, of whatever protocol.
inline constexpr std::uint32_t max_inline_bytes = 512 * 1024;

// Of a session.
inline constexpr std::uint32_t max_lanes = 1024;

// The capabilities that this node offers to clients. They are found without libfabric, which takes
// a while to load, and may know better.
struct NodeCapabilities {
    std::uint32_t providers = 0;        // see wire::Hello
    std::string why_not_verbs;          // empty: it is offered
    std::uint64_t conditions = 0;       // see wire::all_conditions
    bool tls = false;                   // lanes may use it
    bool requires_hello = false;        // peers of protocol 0.1 are refused
    std::vector<HostAddress> addresses; // see wire::Hello
};

// The address where ssh has arrived (empty: not known), and behind it those of the configuration.
std::vector<std::string> arrival_addresses(const std::string& of_ssh,
                                           const std::vector<std::string>& configured);

// ADDRESSES: those at which lanes may arrive; any that is no number is passed over. DEVICE as in
// Configuration.
NodeCapabilities find_capabilities(const std::vector<std::string>& addresses,
                                   const std::string& device);
// Takes out what CONFIGURATION forbids, and adds the conditions that it makes.
void limit(NodeCapabilities& capabilities, const Configuration& configuration);

// The outcome of the first words.
struct HandshakeResult {
    wire::Agreement agreement;
    std::optional<transport::ControlTranscript> transcript; // if lane frames were agreed on
};

// VALUE: that of RPMEMD_OFFER, or null. Writes the status or the hello, with OFFER, to OUTPUT;
// reads the answer to a hello from INPUT. EPROTO: the peer speaks protocol 0.1, and may not.
Result<HandshakeResult> exchange_hello(const char* value, const NodeCapabilities& capabilities,
                                       int input, int output);

} // namespace rpmem::target
