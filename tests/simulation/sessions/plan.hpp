// SPDX-License-Identifier: BSD-3-Clause
// The plan that a seed chooses before the simulation starts: sizes, network, timeouts and faults.
#pragma once

#include "tests/simulation/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::simulation::sessions {

using std::chrono::milliseconds;

inline Time time_of(milliseconds time) { return static_cast<Time>(time.count()) * millisecond; }

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
    count,
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Fault::count)> fault_names{
    "cut_lanes",   "cut_login",      "half_open", "outage",     "kill",       "terminate",
    "stop_target", "stop_initiator", "power_cut", "disk_error", "slow_disk",  "intruder",
    "clock_jump",  "dying_sessions", "restore",   "rename",     "lost_state", "no_state"};

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
    count,
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Planted::count)> planted_names{
    "none",           "replay-misses-lane",  "replay-drops-last", "ack-of-other-generation",
    "stale-ack",      "exchanged-lanes",     "no-fence",          "old-heartbeat",
    "no-incarnation", "close-without-drain", "hidden-loss",       "no-bound",
    "claim-by-path",  "no-inode-generation"};

struct PlannedFault {
    Fault fault;
    Time at;
    Time time; // duration
    bool toward_initiator;
    bool toward_target;
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
    std::vector<PlannedFault> faults;
};

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

inline std::vector<PlannedFault> make_faults(Random& random, Time span) {
    std::vector<PlannedFault> faults(random.chance(5) ? 0 : random.between(1, 4));
    for (PlannedFault& fault : faults) {
        fault.fault = static_cast<Fault>(random.below(static_cast<std::uint64_t>(Fault::count)));
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
    const Time step = plan.max_pause / 2 + 3 * plan.conditions.delay + 20 * microsecond;
    plan.faults = make_faults(random, 10 * millisecond + step * plan.steps);
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
    for (const PlannedFault& fault : plan.faults)
        fmt::print("    at {} us: {} for {} us{}{}\n", fault.at / microsecond,
                   fault_names[static_cast<std::size_t>(fault.fault)], fault.time / microsecond,
                   fault.toward_target ? ", to the target" : "",
                   fault.toward_initiator ? ", to the initiator" : "");
}

} // namespace rpmem::simulation::sessions
