// Which provider a pool will use: what this node has, what the settings allow, what the target
// takes.
#pragma once

#include "base/settings.hpp"
#include "fabric/provider.hpp"
#include "wire/control_messages.hpp"
#include "wire/hello.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rpmem {

struct Providers {
    std::vector<fabric::Provider> usable; // the best first; at least one
    std::string why_not_others;
};

// All that the settings allow and that reach HOST. ENOMEDIUM, with the reason for each, if none.
Result<Providers> find_providers(const std::string& host, const Settings& settings);

// The best one that the target takes; HELLO is nothing for a peer of protocol 0.1. ENOMEDIUM.
Result<fabric::Provider> agree_on_provider(Providers providers, const std::string& host,
                                           const std::optional<wire::Hello>& hello);

wire::Provider on_the_wire(fabric::ProviderKind kind);

} // namespace rpmem
