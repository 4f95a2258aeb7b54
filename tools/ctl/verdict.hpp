// SPDX-License-Identifier: BSD-3-Clause
// The conclusion from two reports.
#pragma once

#include "tools/ctl/remote.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace rpmem::ctl {

struct Verdict {
    enum class Answer { possible, impossible, unknown };
    Answer answer = Answer::impossible;
    std::string provider;              // the one for a pool; empty: none
    bool tls = false;                  // its lanes would use it
    std::vector<std::string> problems; // why it is not possible, or not known
    std::vector<std::string> why_not;  // why not a better provider
    std::vector<std::string> notes;    // other facts for the operator
};

[[nodiscard]] Verdict judge(const nlohmann::json& node);
[[nodiscard]] Verdict judge(const nlohmann::json& node, const RemoteAnswer& target);

} // namespace rpmem::ctl
