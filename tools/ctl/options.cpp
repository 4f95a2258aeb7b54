// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/options.hpp"

#include "common/base/version.hpp"
#include "tools/ctl/help.hpp"

// Only this file includes the header, because it takes long to compile.
#include <CLI/CLI.hpp>

#include <array>
#include <string_view>

namespace rpmem::ctl {
namespace {

using Verb = Command::Verb;

struct Positional {
    std::string_view word; // the word in VerbHelp::arguments
    const char* name;
    std::string Command::*member;
    const char* help;
};
constexpr std::array positionals = {
    Positional{"TARGET", "target", &Command::target, "[user@]host[:port]"},
    Positional{"SET", "set", &Command::pool_set, "pool set file, relative to poolset-dir"},
    Positional{"SESSION", "session", &Command::session,
               "number of the session, see rpmemctl sessions"},
    Positional{"PID|FILE", "whom", &Command::whom,
               "a process, or a file that processes have open or mapped; default: all processes"},
    Positional{"FILE", "file", &Command::file, "image of the pool on this machine"},
};

void declare_positionals(CLI::App& verb, std::string_view arguments, Command& command) {
    while (!arguments.empty()) {
        const std::string_view word = arguments.substr(0, arguments.find(' '));
        arguments.remove_prefix(std::min(word.size() + 1, arguments.size()));
        const bool optional = word.front() == '[';
        const auto bare = optional ? word.substr(1, word.size() - 2) : word;
        for (const Positional& each : positionals)
            if (each.word == bare)
                verb.add_option(each.name, command.*each.member, each.help)
                    ->option_text(std::string(word))
                    ->required(!optional);
    }
}

void declare_options(CLI::App& app, Verb verb, Command& command) {
    if (verb == Verb::remove) {
        app.add_flag("--force", command.force, "ignore parts that do not exist or are faulty");
        app.add_flag("--keep-set", command.keep_set, "leave the pool set file");
    }
    if (verb == Verb::create) {
        app.add_option("--size", command.size, "bytes of the pool: 10G, 512M, ...")
            ->transform(CLI::AsSizeValue(false))
            ->option_text("SIZE")
            ->required();
        app.add_option("--parts", command.parts,
                       "paths of the parts on the target, which share SIZE equally")
            ->option_text("PATH...");
        app.add_flag("--no-headers", command.no_headers, "pool without headers (OPTION NOHDRS)");
        app.add_flag("--set-only", command.set_only, "write the pool set file, and create no pool");
    }
    if (verb == Verb::verify)
        app.add_flag("--repair", command.repair, "copy the differing chunks to the pool");
    if (verb == Verb::push || verb == Verb::pull || verb == Verb::verify)
        app.add_flag("--force", command.force,
                     "continue although FILE is another pool or has another length");
    if (verb == Verb::push || verb == Verb::pull || verb == Verb::verify)
        app.add_option("--lanes", command.lanes, "number of lanes, each with a thread")
            ->check(CLI::Range(1, 64))
            ->option_text("N")
            ->capture_default_str();
    if (verb == Verb::status || verb == Verb::watch)
        app.add_flag("--all", command.all, "show the programs of other users, too");
    if (verb == Verb::check)
        app.add_flag("--all", command.all, "check each pool of the target; without SET");
    if (verb == Verb::watch)
        app.add_option("--count", command.count, "number of views, one a second; default: no limit")
            ->option_text("N");
    if (verb == Verb::export_metrics) {
        app.add_option("--textfile", command.textfile,
                       "directory that the textfile collector of a node exporter reads")
            ->option_text("DIR")
            ->required();
        app.add_option("--interval", command.interval,
                       "seconds between two writes, 1 to 3600; default: write once")
            ->check(CLI::Range(1, 3600))
            ->option_text("SECONDS");
        return;
    }
    if (verb != Verb::bench)
        app.add_flag("--json", command.json, "print JSON, see rpmemctl(1)");
    else
        app.add_flag("--json", command.json, "print JSON, see rpmem-bench(1)");
}

} // namespace

CommandLine parse_command_line(int argc, const char* const argv[]) {
    CLI::App app("Manage pools, sessions and targets of librpmem and rpmemd.");
    app.name("rpmemctl");
    app.set_help_flag("-h,--help", "print this and exit");
    app.set_version_flag("-V,--version", describe_version("rpmemctl"),
                         "print the version and exit");
    app.require_subcommand(1);
    app.footer("Run `rpmemctl VERB --help` for details and examples. See rpmemctl(1).");
    Command command;
    for (const VerbHelp& help : verb_helps()) {
        CLI::App* const verb = app.add_subcommand(help.name, help.summary);
        declare_positionals(*verb, help.arguments, command);
        declare_options(*verb, help.verb, command);
        verb->footer(help.footer);
        verb->parse_complete_callback([&command, &help] { command.verb = help.verb; });
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        for (const VerbHelp& help : verb_helps()) // the list of verbs has only the summary
            if (CLI::App* const verb = app.get_subcommand(help.name); verb->parsed())
                verb->description(help.description);
        return Exit{app.help(), 0};
    } catch (const CLI::CallForVersion& version) {
        return Exit{std::string(version.what()) + "\n", 0};
    } catch (const CLI::Error& error) {
        return Exit{std::string("rpmemctl: ") + error.what() + "; see rpmemctl --help\n",
                    status_usage};
    }
    if (command.verb == Verb::check && command.all != command.pool_set.empty())
        return Exit{"rpmemctl: check needs SET, or --all without SET; see rpmemctl check --help\n",
                    status_usage};
    return command;
}

} // namespace rpmem::ctl
