#include "greeting.hpp"

#include "base/io.hpp"
#include "fabric/search.hpp"
#include "medium/medium.hpp"
#include "wire/control_messages.hpp"
#include "wire/hello.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

namespace rpmem::target {
namespace {

constexpr std::chrono::seconds greeting_time(30);

constexpr std::uint32_t most_lanes = 1024;
constexpr std::uint32_t most_messages = 32;

std::uint32_t bit(wire::Provider provider) {
    return wire::provider_bit(static_cast<std::uint32_t>(provider));
}

Result<wire::Hello> make_hello(const Offer& offer) {
    wire::Hello hello;
    hello.capabilities = wire::all_capabilities | offer.conditions;
    hello.providers = offer.providers;
    hello.addresses = offer.addresses;
    hello.lanes = most_lanes;
    hello.messages = most_messages;
    hello.inline_size = most_inline_bytes;
    if (getrandom(hello.token.data(), hello.token.size(), 0) !=
        static_cast<ssize_t>(hello.token.size()))
        return fail_errno(ErrorClass::bug, errno,
                          "no random bytes for the token of the session (getrandom)");
    return hello;
}

Result<wire::HelloAnswer> read_answer(int input, const Deadline& deadline) {
    std::vector<std::byte> bytes(wire::hello_size_field);
    auto got = read_fully(input, bytes, deadline);
    if (!got)
        return propagate(std::move(got));
    const auto size =
        wire::decode_hello_size(std::span(bytes).first(*got), wire::hello_answer_size);
    if (!size)
        return tl::unexpected(size.error());
    bytes.resize(*size);
    got = read_fully(input, std::span(bytes).subspan(wire::hello_size_field), deadline);
    if (!got)
        return propagate(std::move(got));
    return wire::decode_hello_answer(std::span(bytes).first(wire::hello_size_field + *got));
}

// Why no lane can arrive by verbs at any of ADDRESSES: what is said of the first. Empty: one may.
std::string why_not_verbs(const std::vector<std::string>& addresses, const std::string& device) {
    const auto surroundings = fabric::look_around({"device", device});
    if (!surroundings)
        return surroundings.error().text;
    std::string why;
    for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
        const auto diagnosis = rdma::diagnose(*surroundings, rdma::local_end_at(*address));
        if (!rdma::is_certain(diagnosis, *surroundings))
            return {};
        why = diagnosis.text;
    }
    return why;
}

} // namespace

std::vector<std::string> arrival_addresses(const std::string& of_ssh,
                                           const std::vector<std::string>& configured) {
    std::vector<std::string> addresses{of_ssh};
    for (const std::string& address : configured)
        if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
            addresses.push_back(address);
    return addresses;
}

Offer make_offer(const std::vector<std::string>& addresses, const std::string& device) {
    Offer offer;
    offer.providers = bit(wire::Provider::tcp) | bit(wire::Provider::sockets);
    offer.why_not_verbs = why_not_verbs(addresses, device);
    if (offer.why_not_verbs.empty())
        offer.providers |= bit(wire::Provider::verbs);
    for (const std::string& text : addresses)
        if (const auto address = parse_address(text))
            offer.addresses.push_back(*address);
    return offer;
}

void limit(Offer& offer, const Configuration& configuration) {
    if (!configuration.sockets)
        offer.providers &= ~bit(wire::Provider::sockets);
    if (configuration.read_only)
        offer.conditions |= wire::condition_read_only;
    if (configuration.persist_apm && !caches_are_durable())
        offer.conditions |= wire::condition_no_appliance_over_tcp;
}

Result<Agreement> greet(const char* value, const Offer& offer, int input, int output) {
    const Deadline deadline(greeting_time);
    if (!value || std::string_view(value) != wire::offer_value) {
        RPMEM_TRY(write_fully(output, wire::encode_initial_status(0), deadline));
        return Agreement{};
    }
    const auto hello = make_hello(offer);
    if (!hello)
        return tl::unexpected(hello.error());
    RPMEM_TRY(write_fully(output, wire::encode_initial_status(wire::hello_status), deadline));
    RPMEM_TRY(write_fully(output, wire::encode(*hello), deadline));
    const auto answer = read_answer(input, deadline);
    if (!answer)
        return tl::unexpected(answer.error());
    Agreement agreement{.knows_hello = true, .lane_token = std::nullopt};
    const auto taken = [&](std::uint64_t capability) {
        return (answer->capabilities & capability) != 0;
    };
    agreement.medium_failure = taken(wire::capability_medium_failure);
    agreement.messages_only = taken(wire::capability_messages_only);
    if (taken(wire::capability_pipelining)) {
        agreement.messages = hello->messages;
        agreement.counted_answers = true;
        agreement.late_answers = taken(wire::capability_late_answers);
        agreement.several_windows = agreement.messages_only && taken(wire::capability_windows);
        agreement.processors = taken(wire::capability_processors);
        agreement.gathering = taken(wire::capability_gathering);
    }
    if (taken(wire::capability_lane_greeting))
        agreement.lane_token = hello->token;
    return agreement;
}

} // namespace rpmem::target
