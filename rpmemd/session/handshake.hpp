// SPDX-License-Identifier: BSD-3-Clause
// The handshake of the control channel: only a status for peers of protocol 0.1, and a hello for
// newer ones.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/lane_auth.hpp"
#include "common/wire/hello.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// Maximum payload of a message that a peer may request.
inline constexpr std::uint32_t max_inline_bytes = 512 * 1024;

inline constexpr std::uint32_t max_lanes = 1024; // of a session

// The capabilities that this node offers to clients. They are determined without libfabric, which
// is slow to load. libfabric may still refuse what is offered here.
struct NodeCapabilities {
    std::uint32_t providers = 0;        // see wire::Hello
    std::string why_not_verbs;          // empty if verbs is offered
    std::uint64_t conditions = 0;       // see wire::all_conditions
    bool tls = false;                   // lanes may use TLS
    bool requires_hello = false;        // refuse peers of protocol 0.1
    std::vector<HostAddress> addresses; // see wire::Hello
};

// Returns OF_SSH, the local address of the ssh connection, unless it is empty, and then the
// addresses of the configuration.
std::vector<std::string> arrival_addresses(const std::string& of_ssh,
                                           const std::vector<std::string>& configured);

// ADDRESSES are the addresses to which lanes may connect. Those that are not numeric are ignored
// for the hello. DEVICE is the setting device.
NodeCapabilities find_capabilities(const std::vector<std::string>& addresses,
                                   const std::string& device);
// Removes the capabilities that CONFIGURATION forbids, and adds the conditions that it imposes.
void limit(NodeCapabilities& capabilities, const Configuration& configuration);

struct HandshakeResult {
    wire::Agreement agreement;
    std::optional<transport::ControlTranscript> transcript; // set if both ends use lane frames
};

// VALUE is that of RPMEMD_OFFER, or null. If it is wire::offer_value, writes a hello to OUTPUT and
// reads the answer from INPUT. Otherwise writes only the status. Fails with EPROTO if the peer uses
// protocol 0.1 and CAPABILITIES do not allow it, and like read_fully(), write_fully() and the
// functions that decode the answer.
Result<HandshakeResult> exchange_hello(const char* value, const NodeCapabilities& capabilities,
                                       int input, int output);

} // namespace rpmem::target
