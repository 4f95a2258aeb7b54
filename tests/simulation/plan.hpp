// SPDX-License-Identifier: BSD-3-Clause
// The plan that a seed chooses before the simulation starts: sizes, network, and what goes wrong.
#pragma once

#include "common/wire/lane_rules.hpp"
#include "tests/simulation/network.hpp"

#include <optional>

namespace rpmem::simulation {

// Each lane has its own region of the pool.
inline constexpr std::size_t max_lanes = 8;
inline constexpr std::size_t region_size = 4096;
inline constexpr std::size_t pool_size = max_lanes * region_size;

// The trouble that a simulation causes at most once.
enum class Trouble {
    none,
    pause,     // nothing arrives for a while, every call must succeed
    slow_sync, // one call to the medium takes long, every call must succeed
    cut,
    half_open,    // one direction loses everything
    silence,      // both directions lose everything
    deaf_target,  // a worker stops working
    medium,       // a sync fails
    lost_session, // the control channel reports a loss
    failed_send,  // one end has no memory for a send, or cannot read the pool
    bad_peer,     // an initiator violates the protocol
    target_ends,  // the target ends cleanly while lanes are used
    count,
};

// Planted faults, which the simulation must find.
enum class Planted {
    none,
    ack_before_persist,
    skipped_lane, // a drain of several lanes omits one
    lost_credit,  // an ack is not sent
    stale_ack,    // an ack is sent again
    b_before_a,   // a range becomes durable after a later one
    hidden_error, // a failed sync counts as done
    same_nonce,   // the target repeats its nonce, so that a replayed proof is valid
    left_early,   // a worker does not wait until its error text is read
    lost_wake,    // a worker is not woken for a new lane
    no_deadline,  // connections without a proof have no deadline
    count,
};

enum class Kind { file, pmem, both };

struct Plan {
    wire::LaneTerms terms;
    Conditions conditions;
    std::chrono::milliseconds timeout{0}; // timeout of a call while nothing arrives
    unsigned lanes = 1;
    unsigned applications = 1; // fibers that share the lanes
    unsigned workers = 1;
    unsigned steps = 1; // number of steps of each application
    std::size_t max_length = 8;
    std::size_t target_buffer = 0;
    Kind kind = Kind::file;
    bool grants = false;          // the listener grants the credits; else both ends use TERMS
    unsigned unauthenticated = 0; // connections without the secret
    bool outlasts = false;        // the session lasts until all of them have been closed
    unsigned shortages = 0;       // how often accept(2) has no descriptor
    Trouble trouble = Trouble::none;
    Time trouble_at = 0;
    unsigned troubled_lane = max_lanes; // max_lanes means all lanes
    bool kernel_tells = true;           // the kernel reports a silent peer

    [[nodiscard]] wire::LaneTerms terms_for(const wire::LaneCredits& granted) const {
        return {.credits = grants ? granted : terms.credits, .pool_size = pool_size};
    }
};

inline constexpr std::array<const char*, static_cast<std::size_t>(Trouble::count)> troubles{
    "none",        "pause",  "slow_sync",    "cut",         "half_open", "silence",
    "deaf_target", "medium", "lost_session", "failed_send", "bad_peer",  "target_ends"};
inline constexpr std::array<const char*, static_cast<std::size_t>(Planted::count)> plants{
    "none",         "ack-before-persist", "skipped-lane", "lost-credit", "stale-ack",  "b-before-a",
    "hidden-error", "same-nonce",         "left-early",   "lost-wake",   "no-deadline"};

inline constexpr std::array<Time, 5> delays{0, microsecond, 50 * microsecond, millisecond,
                                            20 * millisecond};
// The capacities range from less than a header to more than the credits.
inline constexpr std::array<std::size_t, 5> capacities{20, 100, 1000, 8192, 80 * 1024};
inline constexpr std::array<std::uint32_t, 6> payloads{8, 24, 64, 1024, 4096, 32 * 1024 - 32};
inline constexpr std::array<std::uint32_t, 2> credits{wire::min_credit_bytes, 1024 * 1024};
inline constexpr std::array<std::uint32_t, 5> frames{1, 2, 5, 64, 1024};
inline constexpr std::array<std::size_t, 3> buffers{256, 4096, 64 * 1024};

// This is more than the slots of the listener.
inline constexpr std::uint64_t max_unauthenticated = 160;
inline constexpr std::uint64_t few_unauthenticated = 6;

// The maximum number of pieces of one call. More pieces take longer and test nothing new.
inline constexpr std::size_t max_pieces = 24;

inline wire::LaneTerms make_terms(Random& random) {
    return {.credits = {.bytes = random.one_of(credits),
                        .payload = random.one_of(payloads),
                        .frames = random.one_of(frames),
                        .reads = static_cast<std::uint32_t>(random.between(1, wire::max_reads))},
            .pool_size = pool_size};
}

// All bytes of an application may be in flight before the first acknowledgement. If the network has
// a small capacity, each part of them takes a round trip.
inline std::chrono::milliseconds timeout_of(const Plan& plan) {
    constexpr std::chrono::milliseconds without_trouble(5000);
    constexpr std::uint64_t parts = 4; // into which the bytes of one capacity may be split
    const std::uint64_t bytes = plan.steps * (plan.max_length + 2 * wire::frame_header_size);
    const Time round_trip = 2 * (plan.conditions.delay + plan.conditions.jitter);
    const Time sending = bytes * parts / plan.conditions.capacity * round_trip;
    return without_trouble + std::chrono::milliseconds(sending / millisecond);
}

inline const char* name_of(Trouble trouble) { return troubles[static_cast<std::size_t>(trouble)]; }

inline const char* name_of(Planted planted) { return plants[static_cast<std::size_t>(planted)]; }

inline std::optional<Planted> planted_of(std::string_view name) {
    for (std::size_t i = 0; i < plants.size(); ++i)
        if (name == plants[i])
            return static_cast<Planted>(i);
    return std::nullopt;
}

inline Plan make_plan(Random& random) {
    Plan plan;
    plan.terms = make_terms(random);
    plan.conditions.delay = random.one_of(delays);
    plan.conditions.jitter = random.chance(50) ? plan.conditions.delay : 0;
    plan.conditions.capacity = random.one_of(capacities);
    plan.conditions.partial = random.chance(50) ? static_cast<unsigned>(random.below(40)) : 0;
    plan.lanes = static_cast<unsigned>(random.between(1, max_lanes));
    plan.applications = static_cast<unsigned>(
        random.between((plan.lanes + 3) / 4, std::min<std::uint64_t>(plan.lanes, 4)));
    plan.workers = static_cast<unsigned>(random.between(1, 2));
    plan.steps = static_cast<unsigned>(random.between(4, 40));
    plan.max_length = std::min({region_size, plan.terms.credits.payload * max_pieces,
                                plan.conditions.capacity * max_pieces});
    plan.timeout = timeout_of(plan);
    plan.target_buffer = random.one_of(buffers);
    plan.kind = static_cast<Kind>(random.below(3));
    if (random.chance(60))
        plan.trouble =
            static_cast<Trouble>(random.between(1, static_cast<std::uint64_t>(Trouble::count) - 1));
    // Most troubles happen while calls are running.
    const Time round_trip = 2 * plan.conditions.delay + 20 * microsecond;
    plan.trouble_at = random.below(round_trip * plan.steps);
    if (random.chance(50))
        plan.troubled_lane = static_cast<unsigned>(random.below(plan.lanes));
    plan.kernel_tells = random.chance(60);
    plan.grants = random.chance(30);
    if (random.chance(30))
        plan.unauthenticated =
            1 + static_cast<unsigned>(
                    random.below(random.chance(30) ? max_unauthenticated : few_unauthenticated));
    plan.outlasts = plan.unauthenticated > 0 && random.chance(30);
    if (random.chance(10))
        plan.shortages = 1 + static_cast<unsigned>(random.below(3));
    return plan;
}

} // namespace rpmem::simulation
