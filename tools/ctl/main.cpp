// SPDX-License-Identifier: BSD-3-Clause
// rpmemctl: see rpmemctl(1).
#include "common/base/log.hpp"
#include "common/base/program_output.hpp"
#include "librpmem/settings/refusal.hpp"
#include "tools/ctl/options.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

namespace {

using namespace rpmem;
using Verb = ctl::Command::Verb;

int run_with_target(const ctl::Context& context) {
    switch (context.command.verb) {
    case Verb::remove:
        return ctl::remove_pool(context);
    case Verb::accept:
    case Verb::take:
        return ctl::accept_or_take(context);
    case Verb::push:
    case Verb::pull:
    case Verb::verify:
        return ctl::transfer_pool(context);
    case Verb::doctor:
        return ctl::examine_target(context);
    case Verb::bench:
        return ctl::run_benchmark(context);
    default:
        return ctl::run_action_verb(context);
    }
}

int run_command(const ctl::Command& command) {
    if (command.verb == Verb::settings)
        return ctl::show_settings(command);
    if (command.verb == Verb::status)
        return ctl::show_status(command);
    if (command.verb == Verb::watch)
        return ctl::watch_status(command);
    if (command.verb == Verb::export_metrics)
        return ctl::export_metrics(command);
    if (command.verb == Verb::pause || command.verb == Verb::resume || command.verb == Verb::rate)
        return ctl::steer_pool(command);
    const initiator::Settings settings = initiator::read_settings(std::getenv);
    for (const std::string& warning : settings.warnings)
        fmt::print(stderr, "rpmemctl: {}\n", printable(warning));
    if (!initiator::refusal_in(std::getenv).empty()) // the reason is among the warnings
        return ctl::status_failed;
    std::optional<initiator::Target> target;
    if (!command.target.empty()) {
        auto parsed = initiator::parse_target(command.target);
        if (!parsed) {
            fmt::print(stderr, "rpmemctl: {}\n", printable(parsed.error().text));
            return ctl::status_usage;
        }
        target = std::move(*parsed);
    }
    if (command.verb == Verb::probe)
        return ctl::probe_nodes(command, settings, target ? &*target : nullptr);
    return run_with_target({command, settings, *target}); // the parser requires a target
}

int run(int argc, char* argv[]) {
    const ctl::CommandLine parsed = ctl::parse_command_line(argc, argv);
    if (const auto* exit = std::get_if<ctl::Exit>(&parsed)) {
        fmt::print(exit->status == 0 ? stdout : stderr, "{}", exit->text);
        return exit->status;
    }
    return run_command(std::get<ctl::Command>(parsed));
}

// A full disk or a closed pipe may be noticed only when the rest of the output is written.
int with_output(int status) {
    return finish_output("rpmemctl") || status != ctl::status_done ? status : ctl::status_failed;
}

} // namespace

int main(int argc, char* argv[]) {
    ignore_signals_of_writes();
    try {
        return with_output(run(argc, argv));
    } catch (const std::exception& exception) {
        fmt::print(stderr, "rpmemctl: {}\n", printable(text_of(exception)));
        return ctl::status_failed;
    }
}
