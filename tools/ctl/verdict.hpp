// SPDX-License-Identifier: BSD-3-Clause
// Concludes from the reports of this node and of a target whether a pool could be created.
#pragma once

#include "tools/ctl/remote.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace rpmem::ctl {

struct Verdict {
    enum class Answer { possible, impossible, unknown };
    Answer answer = Answer::impossible;
    std::string provider;              // the provider that a pool would use; empty if there is none
    bool tls = false;                  // the lanes would use TLS
    std::vector<std::string> problems; // why a pool is impossible, or why this is unknown
    std::vector<std::string> why_not;  // why preferred providers cannot be used
    std::vector<std::string> notes;    // other facts for the operator
};

// Judges this node alone.
[[nodiscard]] Verdict judge(const nlohmann::json& node);
[[nodiscard]] Verdict judge(const nlohmann::json& node, const RemoteAnswer& target);

} // namespace rpmem::ctl
