// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/lane_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::initiator {
namespace {

constexpr std::size_t max_advertised = 8;

class AddressList {
public:
    // Adds an address, unless it is in the list. NUMBER is a numeric address, and HOST is the same
    // or a name of it. NUMBER may be empty if WHY_NOT has a text.
    void add(std::string host, const std::string& number, std::string source,
             std::string why_not = {}) {
        const auto address = parse_address(number);
        if (address && std::find(numbers_.begin(), numbers_.end(), *address) != numbers_.end())
            return;
        if (std::any_of(addresses_.begin(), addresses_.end(),
                        [&](const LaneAddress& known) { return known.host == host; }))
            return;
        if (address)
            numbers_.push_back(*address);
        addresses_.push_back({std::move(host), number, std::move(source), std::move(why_not)});
    }
    // Records that the login may have connected to NUMBER without a jump host. If that is an
    // address of this machine, the target may be this machine.
    void note_way(const std::string& number) {
        const auto address = parse_address(number);
        went_on_this_machine_ |= address && reach_of(*address) == Reach::same_machine;
    }
    [[nodiscard]] bool went_on_this_machine() const { return went_on_this_machine_; }
    std::vector<LaneAddress> take() { return std::move(addresses_); }

private:
    std::vector<LaneAddress> addresses_;
    std::vector<HostAddress> numbers_;
    bool went_on_this_machine_ = false;
};

// Adds NAME, which cannot be resolved, for messages.
void add_unresolved(AddressList& collection, const std::string& name, std::string source,
                    const std::string& why) {
    collection.add(name, "", std::move(source), "this machine cannot resolve that name: " + why);
}

void add_setting(AddressList& collection, const LoginFacts& arrival, const Inquiries& ask) {
    const char* const source = "RPMEM_ADDRESS";
    if (const auto numbers = ask.resolver(arrival.setting))
        collection.add(arrival.setting, numbers->front(), source);
    else
        add_unresolved(collection, arrival.setting, source, numbers.error().text);
}

void add_destination(AddressList& collection, const LoginFacts& arrival,
                     const SshDestination& destination, const Inquiries& ask) {
    const std::string source = fmt::format("ssh -G names {}", destination.host);
    std::vector<std::string> numbers = arrival.resolved;
    std::string why = arrival.why_not_resolved;
    if (destination.host != arrival.host) {
        auto found = ask.resolver(destination.host);
        why = found ? std::string() : found.error().text;
        numbers = std::move(found).value_or(std::vector<std::string>());
    }
    if (numbers.empty())
        add_unresolved(collection, destination.host, source, why);
    for (const std::string& number : numbers) {
        const auto address = parse_address(number);
        const bool is_near = address && reach_of(*address) != Reach::anywhere;
        if (destination.is_proxied && is_near) {
            collection.add(number, number, source,
                           "another host (ProxyJump, ProxyCommand) makes the connection, and this "
                           "address means another machine there");
            continue;
        }
        collection.add(number, number, source);
        if (!destination.is_proxied)
            collection.note_way(number);
    }
}

void add_by_name(AddressList& collection, const LoginFacts& arrival) {
    if (arrival.resolved.empty())
        return add_unresolved(collection, arrival.host, "the target's name",
                              arrival.why_not_resolved);
    collection.add(arrival.host, arrival.resolved.front(), "the target's name");
    for (const std::string& number : arrival.resolved)
        collection.note_way(number);
}

// Adds the address that the login has connected to.
void add_reached(AddressList& collection, const LoginFacts& arrival, const Inquiries& ask) {
    if (!arrival.peer.empty()) {
        // The name is clearer in messages.
        const bool is_first = !arrival.resolved.empty() && arrival.resolved.front() == arrival.peer;
        collection.add(is_first ? arrival.host : arrival.peer, arrival.peer,
                       "where the login went");
        return collection.note_way(arrival.peer);
    }
    const bool tells = arrival.advertised && !arrival.advertised->empty();
    for (std::size_t i = 0; tells && i < arrival.resolved.size(); ++i)
        if (parse_address(arrival.resolved[i]) == arrival.advertised->front()) {
            collection.add(i == 0 ? arrival.host : arrival.resolved[i], arrival.resolved[i],
                           "the target's name");
            return collection.note_way(arrival.resolved[i]);
        }
    // If the target has sent no addresses, its name is assumed to be right, if it can be resolved.
    if (!tells && !arrival.resolved.empty())
        return add_by_name(collection, arrival);
    if (const auto destination = ask.ssh())
        add_destination(collection, arrival, *destination, ask);
    else
        add_by_name(collection, arrival);
}

void add_advertised(AddressList& collection, const LoginFacts& arrival) {
    if (!arrival.advertised)
        return;
    for (std::size_t i = 0; i < std::min(arrival.advertised->size(), max_advertised); ++i) {
        const HostAddress& address = (*arrival.advertised)[i];
        const Reach reach = reach_of(address);
        const bool may = reach == Reach::anywhere ||
                         (reach == Reach::same_machine && collection.went_on_this_machine());
        std::string why_not;
        if (!may)
            why_not = "it is a loopback or link-local address, and ssh did not connect to it";
        else if (!arrival.uses_advertised) // a hostile target could make us connect to any address
            why_not = "RPMEM_TOLD_ADDRESSES=1 allows the addresses that a target names";
        if (reach != Reach::nowhere)
            collection.add(text_of(address), text_of(address), "sent by rpmemd",
                           std::move(why_not));
    }
}

} // namespace

std::vector<LaneAddress> lane_addresses(const LoginFacts& arrival, const Inquiries& ask) {
    AddressList collection;
    if (!arrival.setting.empty()) { // lanes must not leave the network that the user has chosen
        add_setting(collection, arrival, ask);
        return collection.take();
    }
    add_reached(collection, arrival, ask);
    add_advertised(collection, arrival);
    return collection.take();
}

} // namespace rpmem::initiator
