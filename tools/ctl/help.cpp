// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/help.hpp"

#include <algorithm>
#include <array>

namespace rpmem::ctl {
namespace {

using Verb = Command::Verb;

constexpr const char* probe_text =
    R"(Reports what this node, and through ssh the target, supports for replication: providers, RDMA
devices, limits and persistent memory. Then states which provider a pool would use, and why better
ones cannot be used.

TARGET has the form of rpmem_create(3): [user@]host[:port]. The login is that of the library.
RPMEM_SSH, RPMEM_SSH_TRANSPORT, RPMEM_CMD and all other RPMEM_ variables have the same effect as for
a program. Runs `rpmemd --probe` on the target. Creates no pool, and connects no lane.)";

constexpr const char* probe_footer = R"(
Exit status:
  0  a pool could be created: both ends have a common provider, the login succeeds, and the daemon
     answers and can read its pool set directory (without TARGET: this node has a provider)
  1  a pool could not be created; the last lines say why
  2  wrong usage
  3  unknown: the target's rpmemd is too old for a probe

Examples:
  rpmemctl probe                                this node only
  rpmemctl probe me@target                      this node and a target
  RPMEM_ENABLE_TCP=0 rpmemctl probe target      whether RDMA can be used
  RPMEM_DEVICE=mlx5_0 rpmemctl probe target     whether this device can be used
  RPMEM_CMD='rpmemd --poolset-dir /srv/pools' rpmemctl probe target
  rpmemctl probe target --json | jq .verdict    for programs)";

// The exit statuses of the other verbs, and the heading of their examples.
#define STATUSES                                                                                   \
    "\nExit status: 0 done, 1 failed, 2 wrong usage, 3 the target's rpmemd is too old,\n"          \
    "4 the pool is not sound or differs from the file, 5 the pool is in use\n\nExamples:\n"

constexpr std::array helps = {
    VerbHelp{Verb::probe, "probe", "[TARGET]", "report what this node and a target support",
             probe_text, probe_footer},
    VerbHelp{
        Verb::settings, "settings", "", "list the RPMEM_ variables, their values and meanings",
        "Prints each variable of librpmem(7): its value, the origin of the value, its default,\n"
        "its bounds and its meaning.",
        "\nExamples:\n"
        "  rpmemctl settings\n"
        "  rpmemctl settings --json | jq '.settings[] | select(.origin != \"default\")'"},
    VerbHelp{Verb::list, "list", "TARGET", "list the pool sets of a target",
             "Prints the pool sets in the target's pool set directory, with size and state.",
             STATUSES "  rpmemctl list target\n"
                      "  rpmemctl list target --json | jq -r '.pool_sets[].name'"},
    VerbHelp{Verb::info, "info", "TARGET SET", "show attributes, parts and sessions of a pool",
             "Prints the parts of a pool, their medium, the attributes in its headers, and the\n"
             "sessions that use it. The pool may be in use.",
             STATUSES "  rpmemctl info target database.set"},
    VerbHelp{Verb::check, "check", "TARGET [SET]", "whether a pool, or each pool, is sound",
             "Lets the target open the pool for reading: parts, headers, shutdown state, bad\n"
             "blocks. Also tells whether the last program that wrote to it has closed it. With\n"
             "--all, checks each pool in the target's directory of pool sets. If others may write\n"
             "to a part, prints the command that takes the right from them.",
             STATUSES "  rpmemctl check target database.set && echo sound\n"
                      "  rpmemctl check target --all\n"
                      "  rpmemctl check target --all --json | jq -r '.pools[].repairs[]'"},
    VerbHelp{
        Verb::remove, "remove", "TARGET SET", "delete a pool, and its pool set file",
        "Deletes the parts of the pool and the pool set file, and prints what it deleted. A pool\n"
        "that is in use is not deleted.",
        STATUSES "  rpmemctl remove target database.set\n"
                 "  rpmemctl remove target database.set --keep-set    the pool alone"},
    VerbHelp{Verb::sessions, "sessions", "TARGET", "list the sessions of a target and their pools",
             "Prints the sessions of the target's user: client, address, time and pool.",
             STATUSES "  rpmemctl sessions target"},
    VerbHelp{Verb::evict, "evict", "TARGET SESSION",
             "end a session and bar its initiator from reconnecting",
             "Ends the daemon of the session with the number SESSION, which `rpmemctl sessions`\n"
             "prints. Its client cannot reconnect, and its calls fail with ESTALE.",
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
        Verb::verify, "verify", "FILE TARGET SET",
        "compare a file with a pool, and optionally repair the pool",
        "Compares FILE, an image of the pool or its pool set file, with the pool: identity and\n"
        "length, then digests (XXH3-128) of chunks. Bytes that libpmemobj never replicates are\n"
        "listed and not compared. Headers are not compared either, because they differ in each\n"
        "replica. With --repair, copies the differing chunks from FILE to the pool.",
        STATUSES "  rpmemctl verify /pools/database target database.set\n"
                 "  rpmemctl verify /pools/database target database.set --repair"},
    VerbHelp{
        Verb::push, "push", "FILE TARGET SET", "copy a file into a pool",
        "Makes the pool equal to FILE, an image of it or its pool set file. Refuses another\n"
        "pool, or one of another length. Does not copy chunks that are equal, so an interrupted\n"
        "push continues where it stopped. The pool keeps its header.",
        STATUSES "  rpmemctl push /pools/database target database.set --lanes 8"},
    VerbHelp{Verb::pull, "pull", "TARGET SET FILE", "copy a pool into a file",
             "Makes FILE an image of the pool, headers included. Chunks that are equal already do\n"
             "not move; zeros become holes. FILE.partial is written and then renamed: what an\n"
             "interrupted pull leaves there, the next one continues.",
             STATUSES "  rpmemctl pull target database.set /backup/database"},
    VerbHelp{Verb::status, "status", "[PID|FILE]",
             "show the open pools of programs on this machine",
             "Prints the counters of the pools of running programs: state, lanes, calls and their\n"
             "latency, unconfirmed bytes, and the last loss. Only root sees the programs of other\n"
             "users.",
             "\nExit status: 0 done, 1 no such pool, 2 wrong usage\n\nExamples:\n"
             "  rpmemctl status\n"
             "  rpmemctl status /pools/database\n"
             "  rpmemctl status --json | jq '.pools[] | select(.state != \"connected\")'"},
    VerbHelp{
        Verb::watch, "watch", "[PID|FILE]", "show the rates of open pools once a second",
        "Prints once a second what the pools of running programs counted since the last view:\n"
        "calls and bytes per second, and latencies. With --json each view is one line.",
        "\nExit status: 0 done, 2 wrong usage\n\nExamples:\n"
        "  rpmemctl watch\n"
        "  rpmemctl watch 4711 --count 60 --json >minute.json"},
    VerbHelp{
        Verb::export_metrics, "export", "",
        "write the counters of open pools to a file for Prometheus",
        "Writes the counters of the open pools on this machine to a file for the textfile\n"
        "collector of Prometheus' node exporter: of this user's programs or, as root, of all\n"
        "programs. With --interval, a pool that has failed stays in the file after its program\n"
        "has ended, so that an alert can fire.",
        "\nExit status: 0 done, 1 the file could not be written, 2 wrong usage\n\nExamples:\n"
        "  rpmemctl export --textfile /var/lib/prometheus/node-exporter\n"
        "  rpmemctl export --textfile /var/lib/prometheus/node-exporter --interval 10"},
    VerbHelp{
        Verb::doctor, "doctor", "TARGET", "try a temporary pool, and report what to change",
        "Probes like `rpmemctl probe`. Then creates a pool of 8 MiB on the target, connects a\n"
        "lane through the firewall, measures small and large persists for 100 ms each, and\n"
        "removes the pool. A step that fails reports what to change.",
        STATUSES "  rpmemctl doctor target"},
    VerbHelp{
        Verb::bench, "bench", "TARGET", "run a short benchmark, and compare it with raw TCP",
        "Writes a pool set file on the target, and runs rpmem-bench(1) with it. Prints beside\n"
        "each result that of raw TCP between the same machines.",
        STATUSES "  rpmemctl bench target"},
};

} // namespace

std::span<const VerbHelp> verb_helps() { return helps; }

const VerbHelp& help_of(Verb verb) {
    return *std::ranges::find(helps, verb, &VerbHelp::verb); // there is one for each
}

} // namespace rpmem::ctl
