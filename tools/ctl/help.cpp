// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/help.hpp"

#include <algorithm>
#include <array>

namespace rpmem::ctl {
namespace {

using Verb = Command::Verb;

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

// The exit statuses of the other verbs, and the heading of their examples.
#define STATUSES                                                                                   \
    "\nExit status: 0 done, 1 failed, 2 wrong usage, 3 the target's rpmemd is too old,\n"          \
    "4 the pool is not as it should be, 5 the pool is in use\n\nExamples:\n"

constexpr std::array helps = {
    VerbHelp{Verb::probe, "probe", "[TARGET]", "what this node, and a target, has for replication",
             probe_text, probe_footer},
    VerbHelp{Verb::settings, "settings", "",
             "the RPMEM_ variables, their values and what they mean",
             "Prints each variable of librpmem(7): its value, where that comes from, its default,\n"
             "its bounds and what it means.",
             "\nExamples:\n"
             "  rpmemctl settings\n"
             "  rpmemctl settings --json | jq '.settings[] | select(.origin != \"default\")'"},
    VerbHelp{Verb::list, "list", "TARGET", "the pool sets of a target",
             "Prints the pool sets in the target's directory of pool sets, with size and state.",
             STATUSES "  rpmemctl list target\n"
                      "  rpmemctl list target --json | jq -r '.pool_sets[].name'"},
    VerbHelp{Verb::info, "info", "TARGET SET", "one pool: attributes, parts, medium, who has it",
             "Prints what a pool set, its parts and its headers say, and who has the pool since\n"
             "when. The pool may be in use.",
             STATUSES "  rpmemctl info target database.set"},
    VerbHelp{Verb::check, "check", "TARGET SET", "whether a pool is sound",
             "Lets the target open the pool for reading: parts, headers, shutdown state, bad\n"
             "blocks. Also tells whether the last program that wrote to it has closed it.",
             STATUSES "  rpmemctl check target database.set && echo sound"},
    VerbHelp{
        Verb::remove, "remove", "TARGET SET", "delete a pool, and its pool set file",
        "Deletes the parts of the pool and the pool set file, and prints what it deleted. A pool\n"
        "that is in use stays.",
        STATUSES "  rpmemctl remove target database.set\n"
                 "  rpmemctl remove target database.set --keep-set    the pool alone"},
    VerbHelp{Verb::sessions, "sessions", "TARGET", "who has which pool of a target",
             "Prints the sessions of the target's user: who, from where, since when, which pool.",
             STATUSES "  rpmemctl sessions target"},
    VerbHelp{
        Verb::evict, "evict", "TARGET SESSION", "end a session for good",
        "Ends the daemon of the session (its number is that of `rpmemctl sessions`), and takes\n"
        "the right from its client to reconnect: its calls fail with ESTALE.",
        STATUSES "  rpmemctl evict target 0123456789abcdef"},
    VerbHelp{Verb::create, "create", "TARGET SET", "write a pool set file, and create its pool",
             "Writes the pool set file on the target, and creates the pool that it describes.",
             STATUSES "  rpmemctl create target database.set --size 10G\n"
                      "  rpmemctl create target database.set --size 20G --parts /mnt/pmem0/p "
                      "/mnt/pmem1/p\n"
                      "  rpmemctl create target database.set --size 10G --set-only    for "
                      "libpmemobj,\n"
                      "                                         which creates the pool itself"},
    VerbHelp{
        Verb::verify, "verify", "FILE TARGET SET", "compare a file with a pool, and repair that",
        "Compares FILE, an image of the pool or its pool set file, with the pool: identity and\n"
        "length, then digests (XXH3-128) of chunks. What libpmemobj never replicates is left\n"
        "out, and named. With --repair, what differs moves from FILE to the pool.\n"
        "The header of each replica is its own.",
        STATUSES "  rpmemctl verify /pools/database target database.set\n"
                 "  rpmemctl verify /pools/database target database.set --repair"},
    VerbHelp{Verb::push, "push", "FILE TARGET SET", "copy a file into a pool",
             "Makes the pool equal to FILE, an image of it or its pool set file. Another pool, or\n"
             "one of another length, is refused. Chunks that are equal already do not move, so a\n"
             "push that was interrupted goes on where it was. The header of the pool stays.",
             STATUSES "  rpmemctl push /pools/database target database.set --lanes 8"},
    VerbHelp{Verb::pull, "pull", "TARGET SET FILE", "copy a pool into a file",
             "Makes FILE an image of the pool, headers included. Chunks that are equal already do\n"
             "not move, so a pull that was interrupted goes on where it was; zeros become holes.",
             STATUSES "  rpmemctl pull target database.set /backup/database"},
    VerbHelp{
        Verb::status, "status", "[PID|FILE]", "the open pools of programs on this machine",
        "Prints what the pools of running programs count: state, lanes, calls and how long\n"
        "they took, what is not confirmed, the last loss. Of the programs of other users only\n"
        "root sees them.",
        "\nExit status: 0 done, 1 no such pool, 2 wrong usage\n\nExamples:\n"
        "  rpmemctl status\n"
        "  rpmemctl status /pools/database\n"
        "  rpmemctl status --json | jq '.pools[] | select(.state != \"connected\")'"},
    VerbHelp{
        Verb::watch, "watch", "[PID|FILE]", "the same, once a second: what happens now",
        "Prints once a second what the pools of running programs counted since the last view:\n"
        "calls and bytes per second, and latencies. With --json each view is one line.",
        "\nExit status: 0 done, 2 wrong usage\n\nExamples:\n"
        "  rpmemctl watch\n"
        "  rpmemctl watch 4711 --count 60 --json >minute.json"},
    VerbHelp{Verb::export_metrics, "export", "",
             "write what open pools count to a file for Prometheus",
             "Writes what the open pools of programs on this machine count to a file for the\n"
             "textfile collector of Prometheus' node exporter: of this user's programs, or, as\n"
             "root, of all. With --interval, a pool that has failed stays in the file after its\n"
             "program has ended, so that an alert can fire.",
             "\nExit status: 0 done, 1 the file could not be written, 2 wrong usage\n\nExamples:\n"
             "  rpmemctl export --textfile /var/lib/prometheus/node-exporter\n"
             "  rpmemctl export --textfile /var/lib/prometheus/node-exporter --interval 10"},
    VerbHelp{Verb::doctor, "doctor", "TARGET", "try a real pool, and tell what to change",
             "As probe; then creates a pool of 8 MiB on the target, connects a lane through the\n"
             "firewall, measures for 100 ms, and removes the pool. Tells what to change.",
             STATUSES "  rpmemctl doctor target"},
    VerbHelp{Verb::bench, "bench", "TARGET", "a short benchmark, with the limit beside each figure",
             "Writes a pool set file on the target, and runs rpmem-bench(1) with it: each figure\n"
             "stands beside what raw TCP does between the same machines.",
             STATUSES "  rpmemctl bench target"},
};

} // namespace

std::span<const VerbHelp> verb_helps() { return helps; }

const VerbHelp& help_of(Verb verb) {
    return *std::ranges::find(helps, verb, &VerbHelp::verb); // there is one for each
}

} // namespace rpmem::ctl
