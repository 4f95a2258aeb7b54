// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/options.hpp"

#include "common/base/version.hpp"

// The header is heavy: nobody else includes it.
#include <CLI/CLI.hpp>

namespace rpmem::ctl {
namespace {

constexpr const char* introduction =
    R"(Looks at what librpmem and rpmemd have to work with, and changes nothing.)";

constexpr const char* probe_text =
    R"(Tells what this node, and through ssh the target, has for replication: providers, RDMA
devices, limits, persistent memory; what a pool would use, and why not something better.

TARGET is written as for rpmem_create(): [user@]host[:port]. The login is the library's own, with
RPMEM_SSH, RPMEM_SSH_TRANSPORT and RPMEM_CMD, and all other RPMEM_ variables count as they do for a
program. On the target `rpmemd --probe` is run. No pool is made, and no port is tried.)";

constexpr const char* probe_footer = R"(
Exit status:
  0  a pool could be created: a provider that both ends have, a login, a daemon that answers, and a
     pool set directory that it can read (without TARGET: a provider)
  1  it could not; the reasons are the last lines
  2  wrong usage
  3  not known: the target's rpmemd is too old to be asked

Examples:
  rpmemctl probe                                this node alone
  rpmemctl probe me@target                      both
  RPMEM_ENABLE_TCP=0 rpmemctl probe target      would it be RDMA?
  RPMEM_DEVICE=mlx5_0 rpmemctl probe target     over that device?
  RPMEM_CMD='rpmemd --poolset-dir /srv/pools' rpmemctl probe target
  rpmemctl probe target --json | jq .verdict    for programs)";

} // namespace

CommandLine parse_command_line(int argc, const char* const argv[]) {
    CLI::App app(introduction);
    app.name("rpmemctl");
    app.set_help_flag("-h,--help", "print this and exit");
    app.set_version_flag("-V,--version", describe_version("rpmemctl"),
                         "print the version and exit");
    app.require_subcommand(1);
    ProbeCommand command;
    CLI::App* const probe =
        app.add_subcommand("probe", "what this node, and a target, has for replication");
    probe->description(probe_text);
    probe->footer(probe_footer);
    probe->add_option("target", command.target, "[user@]host[:port]")->option_text("TARGET");
    probe->add_flag("--json", command.json, "print JSON, see rpmemctl(1)");
    CLI::App* const settings =
        app.add_subcommand("settings", "the RPMEM_ variables, their values and what they mean");
    app.footer("`rpmemctl probe --help` tells more. See rpmemctl(1).");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return Exit{app.help(), 0};
    } catch (const CLI::CallForVersion& version) {
        return Exit{std::string(version.what()) + "\n", 0};
    } catch (const CLI::Error& error) {
        return Exit{std::string("rpmemctl: ") + error.what() + "; see rpmemctl --help\n",
                    status_usage};
    }
    if (settings->parsed())
        return SettingsCommand{};
    return command;
}

} // namespace rpmem::ctl
