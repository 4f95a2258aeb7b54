// SPDX-License-Identifier: BSD-3-Clause
// The verbs. Each function prints its result and returns the exit status.
#pragma once

#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"
#include "tools/ctl/ask.hpp"
#include "tools/ctl/command.hpp"

namespace rpmem::ctl {

// The arguments of a verb that needs a target.
struct Context {
    Command command;
    initiator::Settings settings;
    initiator::Target target;
};

int probe_nodes(const Command& command, const initiator::Settings& settings,
                const initiator::Target* target);
// Returns the report on this node, in the form of rpmemd --probe.
[[nodiscard]] nlohmann::json own_report(const initiator::Settings& settings,
                                        const initiator::Target* target);
int show_settings(const Command& command);
// list, info, check, sessions, evict and create: one action of the target.
int run_action_verb(const Context& context);
int remove_pool(const Context& context);    // remove
int accept_or_take(const Context& context); // accept, take
// push, pull and verify.
int transfer_pool(const Context& context);
int examine_target(const Context& context); // doctor
int show_status(const Command& command);
int watch_status(const Command& command);
int export_metrics(const Command& command); // export
// pause, resume and rate: a request to a running program.
int steer_pool(const Command& command);
int run_benchmark(const Context& context); // bench

// Prints ANSWER as JSON or with DESCRIBE. Prints the text of a failure to standard error. Returns
// the status of ANSWER.
int print_answer(const Command& command, const ActionAnswer& answer,
                 std::string (*describe)(const nlohmann::json& document));

} // namespace rpmem::ctl
