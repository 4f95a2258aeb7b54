// SPDX-License-Identifier: BSD-3-Clause
// The plan that a seed chooses before the simulation starts: sizes, network, timeouts and faults.
#pragma once

#include "common/wire/frame.hpp"
#include "tests/simulation/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace rpmem::simulation::sessions {

using std::chrono::milliseconds;

inline Time time_of(milliseconds time) { return static_cast<Time>(time.count()) * millisecond; }

// Where the regions of the lanes begin in the pool. A program that goes on alone sends blocks. The
// second region is in two of them, so neighbours mark different ones.
inline constexpr std::size_t first_place = wire::digest_block - region_size - region_size / 2;

enum class Fault {
    cut_lanes, // connections of lanes are reset
    cut_login, // ssh ends
    half_open, // existing connections lose everything, in one direction or in both
    outage,    // nothing arrives for a while, then everything does
    kill,      // SIGKILL to a daemon
    terminate, // SIGTERM
    stop_target,
    stop_initiator,
    power_cut,      // the target loses power and starts again later
    disk_error,     // a sync of the pool fails
    slow_disk,      // a sync takes long
    intruder,       // another initiator opens the pool
    clock_jump,     // the target's clock is set
    dying_sessions, // for a while each session starts and is lost again
    restore,        // the target loses power and starts with an older backup of the part
    rename,         // the part is renamed, also in the pool set
    lost_state,     // state-dir is removed
    no_state,       // state-dir cannot be used for a while
    // Only for a program that goes on alone (RPMEM_ON_LOSS=alone).
    crash,        // SIGKILL to the program, which starts again later
    older_memory, // a crash, and the program starts again with a backup of its memory
    full_disk,    // for a while the target cannot store records
    count,
};
inline constexpr auto first_of_alone = Fault::crash;
inline constexpr std::array<const char*, static_cast<std::size_t>(Fault::count)> fault_names{
    "cut_lanes",   "cut_login",      "half_open", "outage",     "kill",       "terminate",
    "stop_target", "stop_initiator", "power_cut", "disk_error", "slow_disk",  "intruder",
    "clock_jump",  "dying_sessions", "restore",   "rename",     "lost_state", "no_state",
    "crash",       "older_memory",   "full_disk"};

// Planted faults, which the simulation must find: see planted_functions.cpp.
enum class Planted {
    none,
    replay_misses_lane,
    replay_drops_last,
    ack_of_other_generation,
    stale_ack,
    exchanged_lanes,
    no_fence,
    old_heartbeat,
    no_incarnation,
    close_without_drain,
    hidden_loss,
    no_bound,            // each loss restarts the time limit of a call
    claim_by_path,       // the record of a pool is a file in state-dir, named after the part's path
    no_inode_generation, // a part is identified only by its inode number
    // In a program that goes on alone.
    tested_mark,     // a mark is set by a load and a store
    late_clear,      // a mark is cleared after its block was read
    owed_not_marked, // ranges that the target has not acknowledged are not marked at the loss
    no_gate,         // a join does not wait for calls that are marking
    early_record,    // the target's record is in sync before the last blocks are durable
    push_unproved,   // memory that is not proved to be newer is sent when a pool is opened
    unsynced_record, // the state of the replica is not durable in the record
    count,
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Planted::count)> planted_names{
    "none",
    "replay-misses-lane",
    "replay-drops-last",
    "ack-of-other-generation",
    "stale-ack",
    "exchanged-lanes",
    "no-fence",
    "old-heartbeat",
    "no-incarnation",
    "close-without-drain",
    "hidden-loss",
    "no-bound",
    "claim-by-path",
    "no-inode-generation",
    "tested-mark",
    "late-clear",
    "owed-not-marked",
    "no-gate",
    "early-record",
    "push-unproved",
    "unsynced-record"};

struct PlannedFault {
    Fault fault;
    Time at;
    Time time; // duration
    bool toward_initiator;
    bool toward_target;
};

// Moments in the life of a program that goes on alone.
enum class Moment {
    leaves,           // a call has given up on the target
    reaches,          // a session that catches up is open
    sends_blocks,     // blocks are about to be sent
    closes_gate,      // a join begins
    joins,            // the replica is in sync, and the record of the target does not say so yet
    states_sync,      // the target is about to be told that the replica is in sync
    stores_state,     // the target is about to store the state of the replica
    has_stored_state, // it has stored the state, and has not answered yet
    count,
};

// What a seed chooses for a program that goes on alone.
struct AlonePlan {
    bool is_on = false;
    std::optional<std::uint64_t> rate{}; // RPMEM_CATCH_UP_RATE
    bool lacks_record = false;           // this machine cannot store its record
    // A fault at the TRAP_COUNT-th of these moments, unless TRAP_COUNT is 0.
    Moment trap = Moment::count;
    unsigned trap_count = 0;
    Fault trapped = Fault::count;
};

struct Plan {
    Conditions conditions;
    unsigned lanes;
    unsigned applications;
    unsigned workers;
    unsigned steps; // number of steps of each application
    std::size_t max_length;
    Time max_pause; // between steps
    milliseconds connect_timeout;
    milliseconds operation_timeout;
    milliseconds peer_timeout; // timeout at the initiator
    milliseconds reconnect_timeout;
    milliseconds reconnect_delay;
    milliseconds target_peer_timeout;
    milliseconds accept_timeout{120000};
    AlonePlan alone;
    std::vector<PlannedFault> faults;
};

inline constexpr unsigned alone_percent = 40; // of the seeds
inline constexpr std::array<Time, 4> delays{10 * microsecond, 200 * microsecond, millisecond,
                                            20 * millisecond};
inline constexpr std::array<std::size_t, 3> capacities{4096, 16384, 80 * 1024};
inline constexpr std::array<Time, 5> pauses{0, microsecond, millisecond, 100 * millisecond, second};
inline constexpr std::array<std::uint64_t, 4> reconnect_times{10, 20, 40, 60}; // seconds
inline constexpr std::array<std::uint64_t, 3> reconnect_delays{10, 100, 500};

// Most faults are short. Some last as long as a timeout, or longer.
inline Time time_of_fault(Random& random) {
    constexpr std::array<Time, 6> most{second,     2 * second,  2 * second,
                                       5 * second, 15 * second, 120 * second};
    return random.below(random.one_of(most));
}

inline std::vector<PlannedFault> make_faults(Random& random, Time span, Fault end) {
    std::vector<PlannedFault> faults(random.chance(5) ? 0 : random.between(1, 4));
    for (PlannedFault& fault : faults) {
        fault.fault = static_cast<Fault>(random.below(static_cast<std::uint64_t>(end)));
        // Half of the later faults happen shortly after the one before, during its recovery.
        const bool follows = &fault != faults.data() && random.chance(50);
        fault.at = follows ? (&fault - 1)->at + random.below(second) : random.below(span);
        fault.time = time_of_fault(random);
        const bool may_outlast =
            fault.fault == Fault::stop_target || fault.fault == Fault::dying_sessions;
        if (may_outlast && random.chance(50))
            fault.time = (20 + random.below(100)) * second; // often longer than the timeouts
        fault.toward_target = random.chance(60);
        fault.toward_initiator = !fault.toward_target || random.chance(50);
    }
    return faults;
}

// Ends the session.
inline PlannedFault make_loss(Random& random, Time span) {
    constexpr std::array<Fault, 6> losses{Fault::cut_lanes, Fault::cut_login, Fault::kill,
                                          Fault::power_cut, Fault::outage,    Fault::half_open};
    return {.fault = random.one_of(losses),
            .at = millisecond * 700 + random.below(span),
            .time = time_of_fault(random),
            .toward_initiator = true,
            .toward_target = random.chance(50)};
}

// The target is away for short and for long times, and most calls give up on it soon.
inline void plan_alone(Random& random, Plan& plan) {
    constexpr std::array<std::uint64_t, 6> give_up{0, 0, 0, 1, 3, 10}; // seconds
    constexpr std::array<Time, 4> pauses_alone{millisecond, 100 * millisecond, second, 3 * second};
    constexpr std::array<Fault, 4> trapped{Fault::kill, Fault::power_cut, Fault::crash,
                                           Fault::cut_lanes};
    constexpr std::array<std::uint64_t, 2> rates{64 * 1024, 1024 * 1024};
    plan.alone.is_on = true;
    plan.lanes = static_cast<unsigned>(random.between(1, 4));
    plan.applications = std::min(plan.lanes, 2U);
    plan.reconnect_timeout = std::chrono::seconds(random.one_of(give_up));
    plan.steps = static_cast<unsigned>(random.between(10, 60));
    plan.max_pause = random.one_of(pauses_alone);
    if (random.chance(20))
        plan.alone.rate = random.one_of(rates);
    plan.alone.lacks_record = random.chance(3);
    if (random.chance(60)) {
        plan.alone.trap = static_cast<Moment>(random.below(static_cast<unsigned>(Moment::count)));
        plan.alone.trap_count = static_cast<unsigned>(random.between(1, 3));
        plan.alone.trapped = random.one_of(trapped);
    }
}

inline Plan plan_of(Random& random) {
    Plan plan{};
    plan.conditions = {.delay = random.one_of(delays),
                       .jitter = 0,
                       .capacity = random.one_of(capacities),
                       .partial = random.chance(30) ? static_cast<unsigned>(random.below(30)) : 0};
    plan.conditions.jitter = random.chance(50) ? 2 * plan.conditions.delay : 0;
    plan.lanes = static_cast<unsigned>(random.between(1, 4));
    plan.applications =
        static_cast<unsigned>(random.between(1, std::min<std::uint64_t>(plan.lanes, 2)));
    plan.workers = static_cast<unsigned>(random.between(1, 2));
    plan.steps = static_cast<unsigned>(random.between(5, 40));
    plan.max_length = random.one_of(std::array<std::size_t, 3>{8, 200, region_size});
    plan.max_pause = random.one_of(pauses);
    plan.peer_timeout = milliseconds(random.between(4000, 8000));
    plan.target_peer_timeout = milliseconds(random.between(4000, 8000));
    plan.connect_timeout = milliseconds(random.between(1000, 5000));
    plan.operation_timeout =
        plan.peer_timeout +
        milliseconds(random.chance(50) ? random.between(30000, 60000) : random.between(1000, 5000));
    plan.reconnect_timeout =
        std::chrono::seconds(random.chance(5) ? 0 : random.one_of(reconnect_times));
    plan.reconnect_delay = milliseconds(random.one_of(reconnect_delays));
    if (random.chance(alone_percent))
        plan_alone(random, plan);
    const Time step = plan.max_pause / 2 + 3 * plan.conditions.delay + 20 * microsecond;
    const Time span = 10 * millisecond + step * plan.steps;
    plan.faults = make_faults(random, span, plan.alone.is_on ? Fault::count : first_of_alone);
    if (plan.alone.is_on)
        plan.faults.push_back(make_loss(random, span));
    return plan;
}

inline void tell(const Plan& plan) {
    fmt::print("lanes {}, applications {}, workers {}, steps {}, pause {} us, delay {} us, "
               "capacity {}; connect {} ms, operation {} ms, peer {} ms (target's {} ms), "
               "reconnect {} ms\n",
               plan.lanes, plan.applications, plan.workers, plan.steps,
               plan.max_pause / microsecond, plan.conditions.delay / microsecond,
               plan.conditions.capacity, plan.connect_timeout.count(),
               plan.operation_timeout.count(), plan.peer_timeout.count(),
               plan.target_peer_timeout.count(), plan.reconnect_timeout.count());
    if (plan.alone.is_on)
        fmt::print("goes on alone; moment {} number {}: {}; rate {}{}\n",
                   static_cast<unsigned>(plan.alone.trap), plan.alone.trap_count,
                   plan.alone.trap_count > 0
                       ? fault_names[static_cast<std::size_t>(plan.alone.trapped)]
                       : "nothing",
                   plan.alone.rate.value_or(0), plan.alone.lacks_record ? "; no record" : "");
    for (const PlannedFault& fault : plan.faults)
        fmt::print("    at {} us: {} for {} us{}{}\n", fault.at / microsecond,
                   fault_names[static_cast<std::size_t>(fault.fault)], fault.time / microsecond,
                   fault.toward_target ? ", to the target" : "",
                   fault.toward_initiator ? ", to the initiator" : "");
}

} // namespace rpmem::simulation::sessions
