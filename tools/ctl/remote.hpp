// SPDX-License-Identifier: BSD-3-Clause
// Asking the target's daemon what it has.
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

// Runs COMMAND on the target, within the time that a login may take, and PATIENCE. The command
// reads INPUT; its input stays open until its output has ended.
[[nodiscard]] Result<RemoteOutput> run_remote(const initiator::Target& target,
                                              const std::string& command,
                                              const initiator::Settings& settings,
                                              std::chrono::milliseconds patience = {},
                                              const std::string& input = {});

// Why OUTPUT is not what it should be.
[[nodiscard]] std::string explain(const initiator::RemoteCommand& command,
                                  const RemoteOutput& output);

struct RemoteAnswer {
    enum class Kind { report, too_old, none };
    Kind kind = Kind::none;
    std::shared_ptr<const nlohmann::json> report; // of rpmemd --probe
    std::string version;                          // of a daemon that is too old
    std::string problem;                          // why there is no report
};

[[nodiscard]] RemoteAnswer ask_target(const initiator::Target& target,
                                      const initiator::Settings& settings);

// The address to which lanes would go first, as far as this machine can tell without a login; the
// name if it has no address here.
[[nodiscard]] std::string lane_host(const initiator::Target& target,
                                    const initiator::Settings& settings);

} // namespace rpmem::ctl
