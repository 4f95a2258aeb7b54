// SPDX-License-Identifier: BSD-3-Clause
// Runs commands on the target, and gets the report of rpmemd there.
#pragma once

#include "common/base/child_process.hpp"
#include "librpmem/session/command_end.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace rpmem::ctl {

struct RemoteOutput {
    std::string text;
    std::string error_text;
    ExitStatus status{};
};

// Runs COMMAND on the target. Fails with ETIMEDOUT if it takes longer than the connect timeout plus
// ACTION_TIMEOUT. The command reads INPUT. Its input stays open until its output has ended.
[[nodiscard]] Result<RemoteOutput> run_remote(const initiator::Target& target,
                                              const std::string& command,
                                              const initiator::Settings& settings,
                                              std::chrono::milliseconds action_timeout = {},
                                              const std::string& input = {});

// Returns why OUTPUT is not a document of rpmemd.
[[nodiscard]] std::string explain(const initiator::RemoteCommand& command,
                                  const RemoteOutput& output);

struct RemoteAnswer {
    enum class Kind { report, too_old, none };
    Kind kind = Kind::none;
    std::shared_ptr<const nlohmann::json> report; // the report of rpmemd --probe
    std::string version;                          // the version of a daemon that is too old
    std::string problem;                          // why there is no report
};

[[nodiscard]] RemoteAnswer ask_target(const initiator::Target& target,
                                      const initiator::Settings& settings);

// Returns the address to which lanes would connect first, as far as it is known without a login.
// Returns the name if it cannot be resolved.
[[nodiscard]] std::string lane_host(const initiator::Target& target,
                                    const initiator::Settings& settings);

} // namespace rpmem::ctl
