// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/options.hpp"

#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/command_line/help.hpp"
#include "common/command_line/usage_error.hpp"
#include "librpmem/settings/catch_up_rate.hpp"
#include "tools/ctl/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace rpmem::ctl {
namespace {

using Verb = Command::Verb;

struct Positional {
    const char* form; // as in VerbHelp::arguments, and the name for CLI11
    std::string Command::*member;
    const char* help;
};
constexpr std::array positionals = {
    Positional{"TARGET", &Command::target, "[user@]host[:port], see rpmem_create(3)"},
    Positional{"POOLSET", &Command::pool_set, "pool set file, relative to poolset-dir"},
    Positional{"SESSION", &Command::session, "number of the session, see rpmemctl sessions"},
    Positional{"PID|FILE", &Command::whom,
               "a process, or a file that processes have open or mapped (default all processes)"},
    Positional{"PID:POOL", &Command::program,
               "a process and one of its pools, see rpmemctl status; POOL is TARGET:POOLSET or "
               "POOLSET"},
    Positional{"BYTES_PER_SECOND|none", &Command::rate,
               "the maximum rate (65536 to 1000000000000), or none for no limit"},
    Positional{"FILE", &Command::file, "image of the pool on this machine"},
};

void declare_positionals(CLI::App& verb, std::string_view arguments, Command& command) {
    while (!arguments.empty()) {
        std::string_view form = take_until(arguments, " ");
        const bool optional = form.front() == '[';
        if (optional)
            form = form.substr(1, form.size() - 2);
        const auto& positional = *std::ranges::find(positionals, form, &Positional::form);
        std::string name = positional.form;
        std::ranges::replace(name, ':', '-'); // CLI11 allows no colon in a name
        verb.add_option(name, command.*positional.member, positional.help)
            ->option_text(positional.form)
            ->required(!optional);
    }
}

void declare_pool_options(CLI::App& app, Verb verb, Command& command) {
    if (verb == Verb::remove) {
        app.add_flag(
            "--force", command.force,
            "ignore missing and faulty parts, and that the program has to make the pool equal");
        app.add_flag("--keep-set", command.keep_set, "keep the pool set file");
    }
    if (verb == Verb::accept || verb == Verb::take)
        app.add_flag("--yes", command.yes, "do not ask; required if there is no terminal");
    if (verb == Verb::take)
        app.add_flag("--accept-loss", command.accept_loss,
                     "take the pool although it may lack acknowledged writes");
    if (verb == Verb::create) {
        app.add_option("--size", command.size, "size of the pool, such as 512M or 10G")
            ->transform(command_line::size())
            ->option_text("SIZE")
            ->required();
        app.add_option("--parts", command.parts,
                       "paths of the parts on the target, which share SIZE equally (default one "
                       "part beside the pool set file)")
            ->option_text("PATH...");
        app.add_flag("--no-headers", command.no_headers,
                     "create a pool without headers (OPTION NOHDRS)");
        app.add_flag("--set-only", command.set_only, "write the pool set file, but create no pool");
    }
    if (verb == Verb::check)
        app.add_flag("--all", command.all, "check every pool of the target, instead of POOLSET");
    if (verb == Verb::verify)
        app.add_flag("--repair", command.repair, "copy the chunks that differ to the pool");
    if (verb == Verb::push || verb == Verb::pull || verb == Verb::verify) {
        app.add_flag("--force", command.force,
                     "continue although FILE is another pool or has another length");
        app.add_option("--lanes", command.lanes,
                       "number of lanes, each with a thread (1 to 64; default 4)")
            ->check(command_line::number(1, 64))
            ->option_text("N");
    }
}

void declare_program_options(CLI::App& app, Verb verb, Command& command) {
    if (verb == Verb::status || verb == Verb::watch)
        app.add_flag("--all", command.all, "show the programs of other users, too");
    if (verb == Verb::watch)
        app.add_option("--count", command.count, "number of views (default no limit)")
            ->check(command_line::number(0, std::numeric_limits<unsigned>::max()))
            ->option_text("N");
    if (verb == Verb::export_metrics) {
        app.add_option("--textfile", command.textfile,
                       "directory of the node exporter's textfile collector")
            ->option_text("DIRECTORY")
            ->required();
        app.add_option("--interval", command.interval,
                       "time between two writes (1 to 3600; default write once)")
            ->check(command_line::number(1, 3600))
            ->option_text("SECONDS");
    }
}

void declare_verb(CLI::App& app, const VerbHelp& help, Command& command) {
    CLI::App* const verb = app.add_subcommand(help.name, help.summary);
    declare_positionals(*verb, help.arguments, command);
    declare_pool_options(*verb, help.verb, command);
    declare_program_options(*verb, help.verb, command);
    if (help.verb != Verb::export_metrics)
        verb->add_flag("--json", command.json,
                       help.verb == Verb::bench ? "print JSON, see rpmem-bench(1)"
                                                : "print JSON, see rpmemctl(1)");
    verb->set_help_flag("-h,--help", "print this help");
    verb->group(help.group);
    verb->footer(help.footer);
    verb->parse_complete_callback([&command, &help] { command.verb = help.verb; });
}

Exit help_exit(const CLI::App& app) {
    const CLI::App& verb = command_line::addressed(app);
    const auto help = std::ranges::find(verb_helps(), verb.get_name(), &VerbHelp::name);
    return {command_line::help_page(verb, command_line::usage_of(verb),
                                    &verb == &app ? app.get_description() : help->description),
            status_done};
}

Exit usage_exit(const CLI::App& app, std::string_view problem) {
    const CLI::App& verb = command_line::addressed(app);
    const std::string call = command_line::call_of(verb);
    return {fmt::format("{}: {}\n{}\nSee {} --help.\n", call, printable(problem),
                        command_line::usage_of(verb), call),
            status_usage};
}

std::string verb_problem(const CLI::App& app) {
    std::string text = "a verb is missing";
    if (const auto words = app.remaining(); !words.empty())
        text = fmt::format("unknown verb \"{}\"", words.front());
    text += "; the verbs are";
    for (const VerbHelp& help : verb_helps())
        text += fmt::format("{} {}", &help == &verb_helps().front() ? "" : ",", help.name);
    return text;
}

std::string steering_problem(const Command& command) {
    std::string_view pool = command.program;
    const std::string_view pid = take_until(pool, ":");
    if (!command.program.empty() && (!parse_number<std::uint32_t>(pid) || pool.empty()))
        return fmt::format("\"{}\" is not a process ID, a colon and a pool, such as "
                           "4711:database.set",
                           command.program);
    if (command.verb != Verb::rate || command.rate == "none")
        return {};
    const auto rate = parse_number<std::uint64_t>(command.rate);
    if (rate && *rate >= initiator::min_catch_up_rate && *rate <= initiator::max_catch_up_rate)
        return {};
    return fmt::format("\"{}\" is neither \"none\" nor a number from {} to {}", command.rate,
                       initiator::min_catch_up_rate, initiator::max_catch_up_rate);
}

} // namespace

CommandLine parse_command_line(int argc, const char* const argv[]) {
    CLI::App app("Manage pools, sessions and targets of librpmem and rpmemd.", "rpmemctl");
    app.require_subcommand(1);
    app.footer("Run `rpmemctl VERB --help` for details and examples. See rpmemctl(1).");
    Command command;
    for (const VerbHelp& help : verb_helps())
        declare_verb(app, help, command);
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("-V,--version", describe_version("rpmemctl"), "print the version");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return help_exit(app);
    } catch (const CLI::CallForVersion& version) {
        return Exit{std::string(version.what()) + "\n", status_done};
    } catch (const CLI::Error& error) {
        const bool has_verb = !app.get_subcommands().empty();
        return usage_exit(app, has_verb ? command_line::problem_of(app, error) : verb_problem(app));
    }
    if (command.verb == Verb::check && command.all != command.pool_set.empty())
        return usage_exit(app, command.all ? "--all cannot be combined with POOLSET"
                                           : "POOLSET or --all is missing");
    if (const std::string problem = steering_problem(command); !problem.empty())
        return usage_exit(app, problem);
    return command;
}

} // namespace rpmem::ctl
