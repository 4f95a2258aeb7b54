// SPDX-License-Identifier: BSD-3-Clause
// What one node can do for replication, put into JSON: for people, for the other node, for
// programs. See rpmemctl(1) for what is in it.
#pragma once

#include "common/transport/fabric/search.hpp"
#include "common/wire/control_messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace rpmem::probe {

inline constexpr int report_format = 1;

struct Question {
    std::string program; // who asks, for the report: "rpmemd 2.0.0"
    fabric::DeviceSetting device;
    // At an initiator: the target to reach. At a target: empty.
    std::string host;
    // At a target: its own address to listen on. Both empty: nobody is to be reached.
    std::string address;
};

struct ProviderSetting {
    wire::Provider provider;
    bool allowed;
    std::string how_to_allow; // if it is not
};

[[nodiscard]] nlohmann::json examine_node(const Question& question,
                                          const std::vector<ProviderSetting>& providers);

} // namespace rpmem::probe
