// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/help.hpp"

#include <algorithm>
#include <array>

namespace rpmem::ctl {
namespace {

using Verb = Command::Verb;

constexpr const char* machines = "Machines";
constexpr const char* pools = "Pools";
constexpr const char* sessions = "Sessions";
constexpr const char* programs = "Programs on this machine";

constexpr const char* probe_text =
    "Report what this machine, and through ssh the target, supports for replication: providers, "
    "RDMA devices, limits and persistent memory. State which provider a pool would use, and why "
    "better ones cannot be used. Create no pool, and connect no lane.\n"
    "\n"
    "The login is that of the library, and all RPMEM_ variables have the same effect as for a "
    "program. On the target, `rpmemd --probe` runs.";

constexpr const char* probe_footer = R"(Exit status:
  0  a pool could be created: the login succeeds, both ends have a common
     provider, and the daemon can read its pool set directory (without TARGET:
     this machine has a provider)
  1  a pool could not be created; the last lines say why
  2  wrong usage
  3  unknown: the target's rpmemd is too old for a probe

Examples:
  rpmemctl probe                               this machine only
  rpmemctl probe me@target                     this machine and a target
  RPMEM_ENABLE_TCP=0 rpmemctl probe target     whether RDMA can be used
  RPMEM_DEVICE=mlx5_0 rpmemctl probe target    whether this device can be used
  RPMEM_CMD='rpmemd --poolset-dir /srv/pools' rpmemctl probe target
  rpmemctl probe target --json | jq .verdict)";

// The exit statuses of the verbs that ask a target, except probe, and the heading of the examples.
#define STATUSES                                                                                   \
    "Exit status: 0 done, 1 failed, 2 wrong usage, 3 the target's rpmemd is too old,\n"            \
    "4 the pool is not sound or differs from the file, 5 the pool is in use\n\nExamples:\n"

// The same for verbs that steer a program.
#define STEERING "Exit status: 0 done, 1 failed, 2 wrong usage\n\nExamples:\n"

// clang-format off: it would break rows of different widths in different ways.
constexpr std::array helps = {
    VerbHelp{Verb::probe, machines, "probe", "[TARGET]",
             "Report what this machine and a target support", probe_text, probe_footer},
    VerbHelp{Verb::doctor, machines, "doctor", "TARGET",
             "Create a temporary pool, and report what to change",
             "Probe like `rpmemctl probe`. Then create a pool of 8 MiB on the target, connect a "
             "lane through the firewall, measure small and large persists for 100 ms each, and "
             "remove the pool. A step that fails reports what to change.",
             STATUSES "  rpmemctl doctor target"},
    VerbHelp{Verb::bench, machines, "bench", "TARGET",
             "Run a short benchmark, and compare it with raw TCP",
             "Write a pool set file on the target, and run rpmem-bench(1) with it. Print beside "
             "each result that of raw TCP between the same machines.",
             STATUSES "  rpmemctl bench target"},
    VerbHelp{
        Verb::settings, machines, "settings", "",
        "List the RPMEM_ variables, their values and bounds",
        "Print each variable of librpmem(7): its value, the origin of the value, its "
        "meaning, its bounds and its default. Mark invalid values and unknown variables.",
        "Exit status: 0 all values are valid, 1 a value is invalid, 2 wrong usage\n\nExamples:\n"
        "  rpmemctl settings\n"
        "  rpmemctl settings --json | jq '.settings[] | select(.origin != \"default\")'"},
    VerbHelp{Verb::list, pools, "list", "TARGET", "List the pool sets of a target",
             "Print the pool sets in the target's pool set directory, with size and state.",
             STATUSES "  rpmemctl list target\n"
                      "  rpmemctl list target --json | jq -r '.pool_sets[].name'"},
    VerbHelp{Verb::info, pools, "info", "TARGET POOLSET",
             "Show the attributes, parts and sessions of a pool",
             "Print the parts of a pool, their medium, the attributes in its headers, and the "
             "sessions that use it. The pool may be in use.",
             STATUSES "  rpmemctl info target database.set"},
    VerbHelp{Verb::check, pools, "check", "TARGET [POOLSET]",
             "Check whether a pool, or every pool, is sound",
             "Let the target open the pool for reading: parts, headers, shutdown state, bad "
             "blocks. Report whether the last program that wrote to it has closed it. With "
             "--all, check every pool in the target's pool set directory. If others may write to "
             "a part, print the command that takes the right from them.",
             STATUSES "  rpmemctl check target database.set && echo sound\n"
                      "  rpmemctl check target --all\n"
                      "  rpmemctl check target --all --json | jq -r '.pools[].repairs[]'"},
    VerbHelp{Verb::create, pools, "create", "TARGET POOLSET",
             "Write a pool set file, and create its pool",
             "Write the pool set file on the target, and create the pool that it describes.",
             STATUSES "  rpmemctl create target database.set --size 10G\n"
                      "  rpmemctl create target database.set --size 20G --parts /mnt/0/p /mnt/1/p\n"
                      "  rpmemctl create target database.set --size 10G --set-only\n"
                      "      for libpmemobj, which creates the pool itself"},
    VerbHelp{Verb::remove, pools, "remove", "TARGET POOLSET", "Delete a pool and its pool set file",
             "Delete the parts of the pool and the pool set file, and print what was deleted. A "
             "pool that is in use is not deleted.",
             STATUSES "  rpmemctl remove target database.set\n"
                      "  rpmemctl remove target database.set --keep-set    the pool alone"},
    VerbHelp{Verb::accept, pools, "accept", "TARGET POOLSET",
             "Accept a pool that may be behind as it is",
             "Declare that the copy of the target is the right one, although it may lack writes of "
             "its program. Then others may open it, and that program can no longer write to it: "
             "its first write fails with ESTALE. Ask first, unless --yes is given.",
             STATUSES "  rpmemctl accept target database.set"},
    VerbHelp{Verb::take, pools, "take", "TARGET POOLSET",
             "Take over a pool, so that the target is its primary",
             "End the session that has the pool, bar its program from it, and change its headers "
             "so that libpmemobj opens it on the target without other replicas. Refuse a pool that "
             "may lack acknowledged writes, unless --accept-loss is given. Ask first, unless --yes "
             "is given. A take that was interrupted can be repeated.",
             STATUSES "  rpmemctl take target database.set\n"
                      "  rpmemctl take target database.set --accept-loss --yes"},
    VerbHelp{Verb::push, pools, "push", "FILE TARGET POOLSET", "Copy a file into a pool",
             "Make the pool equal to FILE, an image of it or its pool set file. Refuse another "
             "pool, or one of another length. Chunks that are equal are not copied, so an "
             "interrupted push continues where it stopped. The pool keeps its header.",
             STATUSES "  rpmemctl push /pools/database target database.set --lanes 8"},
    VerbHelp{Verb::pull, pools, "pull", "TARGET POOLSET FILE", "Copy a pool into a file",
             "Make FILE an image of the pool, headers included. Chunks that are equal are not "
             "copied; zeros become holes. The image is written to FILE.partial and then renamed. "
             "The next pull continues an interrupted one.",
             STATUSES "  rpmemctl pull target database.set /backup/database"},
    VerbHelp{Verb::verify, pools, "verify", "FILE TARGET POOLSET",
             "Compare a file with a pool, and optionally repair the pool",
             "Compare FILE, an image of the pool or its pool set file, with the pool: identity "
             "and length, then digests (XXH3-128) of chunks. Bytes that libpmemobj never "
             "replicates are listed and not compared. Headers are not compared either, because "
             "they differ in each replica.",
             STATUSES "  rpmemctl verify /pools/database target database.set\n"
                      "  rpmemctl verify /pools/database target database.set --repair"},
    VerbHelp{Verb::sessions, sessions, "sessions", "TARGET",
             "List the sessions of a target and their pools",
             "Print the sessions of the target's user: client, address, time and pool.",
             STATUSES "  rpmemctl sessions target"},
    VerbHelp{Verb::evict, sessions, "evict", "TARGET SESSION",
             "End a session, and bar its initiator from reconnecting",
             "End the daemon of a session. Its client cannot reconnect, and its calls fail with "
             "ESTALE.",
             STATUSES "  rpmemctl evict target 0123456789abcdef"},
    VerbHelp{Verb::status, programs, "status", "[PID|FILE]", "Show the open pools of programs",
             "Print the counters of the pools of running programs: state, lanes, calls and their "
             "latency, unconfirmed bytes, and the last loss. Only root sees the programs of other "
             "users.",
             "Exit status: 0 done, 1 no such pool, 2 wrong usage\n\nExamples:\n"
             "  rpmemctl status\n"
             "  rpmemctl status /pools/database\n"
             "  rpmemctl status --json | jq '.pools[] | select(.state != \"connected\")'"},
    VerbHelp{Verb::watch, programs, "watch", "[PID|FILE]",
             "Show the rates of open pools once a second",
             "Print once a second what the pools of running programs counted since the last view: "
             "calls and bytes per second, and latencies. With --json, each view is one line.",
             "Exit status: 0 done, 2 wrong usage\n\nExamples:\n"
             "  rpmemctl watch\n"
             "  rpmemctl watch 4711 --count 60 --json >minute.json"},
    VerbHelp{Verb::export_metrics, programs, "export", "",
             "Write the counters of open pools to a file for Prometheus",
             "Write the counters of the open pools on this machine to a file for the textfile "
             "collector of Prometheus' node exporter: of this user's programs or, as root, of all "
             "programs. With --interval, a pool that has failed stays in the file after its "
             "program has ended, so that an alert can fire.",
             "Exit status: 0 done, 1 the file could not be written, 2 wrong usage\n\nExamples:\n"
             "  rpmemctl export --textfile /var/lib/prometheus/node-exporter\n"
             "  rpmemctl export --textfile /var/lib/prometheus/node-exporter --interval 10"},
    VerbHelp{Verb::pause, programs, "pause", "PID:POOL",
             "Let a program go on without its target, until resume",
             "End the session of a pool with RPMEM_ON_LOSS=alone. Calls of the program return 0, "
             "and the library records which blocks the target lacks. It does not try to reach "
             "the target before `rpmemctl resume`. Until then, the target has no usable copy.",
             STEERING "  rpmemctl pause 4711:database.set\n"
                      "  rpmemctl pause 4711:me@target:database.set"},
    VerbHelp{Verb::resume, programs, "resume", "PID:POOL",
             "Let a paused program reach its target again",
             "Let the library connect to the target at once, and send what the target lacks. "
             "`rpmemctl status` shows when the pool is connected again.",
             STEERING "  rpmemctl resume 4711:database.set"},
    VerbHelp{Verb::rate, programs, "rate", "PID:POOL BYTES_PER_SECOND|none",
             "Limit how fast a program sends what its target lacks",
             "Replace RPMEM_CATCH_UP_RATE for a pool of a running program, until the pool is "
             "closed. Calls of the program do not count.",
             STEERING "  rpmemctl rate 4711:database.set 10000000\n"
                      "  rpmemctl rate 4711:database.set none"},
};
// clang-format on

} // namespace

std::span<const VerbHelp> verb_helps() { return helps; }

const VerbHelp& help_of(Verb verb) {
    return *std::ranges::find(helps, verb, &VerbHelp::verb); // there is one for each
}

} // namespace rpmem::ctl
