// SPDX-License-Identifier: BSD-3-Clause
// Reports in JSON what a machine supports for replication. rpmemctl(1) documents the fields.
#pragma once

#include "common/transport/fabric/search.hpp"
#include "common/wire/control_messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace rpmem::probe {

inline constexpr int report_format = 1;

struct Question {
    std::string program; // name and version for the report: "rpmemd 2.0.0"
    fabric::DeviceSetting device;
    // On an initiator the target to reach. Empty on a target.
    std::string host;
    // On a target the address to listen on. If both are empty, no route is examined.
    std::string address;
};

struct ProviderSetting {
    wire::Provider provider;
    bool allowed;
    std::string how_to_allow; // empty if allowed
};

[[nodiscard]] nlohmann::json examine_node(const Question& question,
                                          const std::vector<ProviderSetting>& providers);

} // namespace rpmem::probe
