// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/handshake.hpp"

#include "common/base/io.hpp"
#include "common/transport/fabric/search.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace rpmem::target {
namespace {

constexpr std::chrono::seconds handshake_timeout(30);

std::uint32_t bit(wire::Provider provider) {
    return wire::provider_bit(static_cast<std::uint32_t>(provider));
}

Result<wire::Hello> make_hello(const NodeCapabilities& capabilities) {
    wire::Hello hello;
    hello.capabilities = wire::all_capabilities | capabilities.conditions;
    if (!capabilities.tls)
        hello.capabilities &= ~wire::capability_tls;
    hello.providers = capabilities.providers;
    hello.addresses = capabilities.addresses;
    hello.lanes = max_lanes;
    transport::SystemRandom random;
    RPMEM_TRY(random.fill(hello.secret));
    return hello;
}

Result<wire::Bytes> read_answer(int input, const Deadline& deadline) {
    wire::Bytes bytes(wire::hello_size_field);
    RPMEM_ASSIGN(auto got, read_fully(input, bytes, deadline));
    RPMEM_ASSIGN(const auto size,
                 wire::decode_hello_size(std::span(bytes).first(got), wire::hello_answer_size));
    bytes.resize(size);
    RPMEM_ASSIGN(got,
                 read_fully(input, std::span(bytes).subspan(wire::hello_size_field), deadline));
    bytes.resize(wire::hello_size_field + got);
    return bytes;
}

// Returns why no lane can connect over verbs to the first of ADDRESSES, if none can connect to any
// of them. Returns an empty text if a lane may connect.
std::string why_not_verbs(const std::vector<std::string>& addresses, const std::string& device) {
    const auto facts = fabric::look_around({"device", device});
    if (!facts)
        return facts.error().text;
    std::string why;
    for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
        const auto diagnosis = rdma::diagnose(*facts, rdma::local_end_at(*address));
        if (!rdma::is_certain(diagnosis, *facts))
            return {};
        why = diagnosis.text;
    }
    return why;
}

} // namespace

std::vector<std::string> arrival_addresses(const std::string& of_ssh,
                                           const std::vector<std::string>& configured) {
    std::vector<std::string> addresses;
    if (!of_ssh.empty())
        addresses.push_back(of_ssh);
    for (const std::string& address : configured)
        if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
            addresses.push_back(address);
    return addresses;
}

NodeCapabilities find_capabilities(const std::vector<std::string>& addresses,
                                   const std::string& device) {
    NodeCapabilities capabilities;
    capabilities.providers = bit(wire::Provider::tcp) | bit(wire::Provider::sockets);
    capabilities.why_not_verbs = why_not_verbs(addresses, device);
    if (capabilities.why_not_verbs.empty())
        capabilities.providers |= bit(wire::Provider::verbs);
    for (const std::string& text : addresses)
        if (const auto address = parse_address(text))
            capabilities.addresses.push_back(*address);
    return capabilities;
}

void limit(NodeCapabilities& capabilities, const Configuration& configuration) {
    if (!configuration.sockets)
        capabilities.providers &= ~bit(wire::Provider::sockets);
    capabilities.tls = configuration.tls != UseTls::off;
    capabilities.requires_hello =
        configuration.require_hello || configuration.tls == UseTls::require;
    if (configuration.tls == UseTls::require) {
        capabilities.conditions |= wire::condition_tls_required;
        capabilities.providers &= bit(wire::Provider::tcp);
        capabilities.why_not_verbs = "tls = require allows lanes over tcp only";
    }
    if (configuration.read_only)
        capabilities.conditions |= wire::condition_read_only;
    if (configuration.persist_apm)
        capabilities.conditions |= wire::condition_no_appliance_over_tcp;
}

Result<HandshakeResult> exchange_hello(const char* value, const NodeCapabilities& capabilities,
                                       int input, int output) {
    const Deadline deadline(handshake_timeout);
    const bool offered = value && std::string_view(value) == wire::offer_value;
    if (!offered && capabilities.requires_hello) {
        RPMEM_TRY(write_fully(output, wire::encode_initial_status(EPROTO), deadline));
        return fail(ErrorClass::caller_fault, EPROTO,
                    "the client speaks protocol 0.1, which is refused here (require-hello, or tls "
                    "= require): its library is version 1.12.1 or older, or the login shell or a "
                    "forced command has dropped the variable {}",
                    wire::offer_variable);
    }
    if (!offered) {
        RPMEM_TRY(write_fully(output, wire::encode_initial_status(0), deadline));
        return HandshakeResult{};
    }
    RPMEM_ASSIGN(auto hello, make_hello(capabilities));
    wire::Bytes said = wire::encode(hello);
    RPMEM_TRY(write_fully(output, wire::encode_initial_status(wire::hello_status), deadline));
    RPMEM_TRY(write_fully(output, said, deadline));
    RPMEM_ASSIGN(const auto bytes, read_answer(input, deadline));
    RPMEM_ASSIGN(const auto answer, wire::decode_hello_answer(bytes));
    RPMEM_ASSIGN(const auto agreement, wire::negotiate(hello, answer));
    RPMEM_ASSIGN(auto transcript, transport::ControlTranscript::make(hello.secret, said, bytes));
    ::explicit_bzero(said.data(), said.size());
    return HandshakeResult{.agreement = agreement, .transcript = std::move(transcript)};
}

} // namespace rpmem::target
