// What a seed chooses before anything happens.
#pragma once

#include "common/wire/lane_rules.hpp"
#include "tests/simulation/network.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rpmem::simulation {

// Each lane has a region of the pool for itself.
inline constexpr std::size_t most_lanes = 8;
inline constexpr std::size_t region_size = 4096;
inline constexpr std::size_t pool_size = most_lanes * region_size;

// What goes wrong, once in a simulation.
enum class Trouble {
    none,
    pause,     // nothing arrives for a while; every call must succeed
    slow_sync, // one call to the medium takes long; every call must succeed
    cut,
    half_open,    // one direction goes silent
    silence,      // both do
    deaf_target,  // a worker does nothing any more
    medium,       // a sync fails
    lost_session, // the control channel says so
    failed_send,  // one end has no memory for it, or cannot read the pool
    bad_peer,     // an initiator breaks the rules
    target_ends,  // in order, while lanes are used
    count,
};
[[nodiscard]] const char* name_of(Trouble trouble);

// Faults of the code, planted to see that they are found.
enum class Planted {
    none,
    ack_before_persist,
    skipped_lane, // by a drain of several
    lost_credit,  // an ack that is not sent
    stale_ack,    // one that is sent again
    b_before_a,   // a range becomes durable behind a later one
    hidden_error, // a sync that has failed counts as done
    same_nonce,   // of the target, so that a repeated proof is right
    left_early,   // a worker does not wait until its last words are read
    lost_wake,    // a worker is not told of a lane
    no_deadline,  // of connections without a proof
    count,
};
[[nodiscard]] const char* name_of(Planted planted);
[[nodiscard]] std::optional<Planted> planted_of(std::string_view name);

enum class Kind { file, pmem, both };

struct Plan {
    wire::LaneTerms terms;
    Conditions conditions;
    std::chrono::milliseconds timeout{0}; // of a call, while nothing comes
    unsigned lanes = 1;
    unsigned applications = 1; // fibers that share the lanes
    unsigned workers = 1;
    unsigned steps = 1; // of each application
    std::size_t most_length = 8;
    std::size_t target_buffer = 0;
    Kind kind = Kind::file;
    bool grants = false; // what the listener does; else TERMS hold at both ends
    unsigned strangers = 0;
    bool outlasts = false;  // the session goes on until all of them have been ended
    unsigned shortages = 0; // of descriptors, when somebody connects
    Trouble trouble = Trouble::none;
    Time trouble_at = 0;
    unsigned troubled_lane = most_lanes; // that one alone; most_lanes: all
    bool kernel_tells = true;            // of a peer that is silent

    [[nodiscard]] wire::LaneTerms terms_for(const wire::LaneCredits& granted) const {
        return {.credits = grants ? granted : terms.credits, .pool_size = pool_size};
    }
};
[[nodiscard]] Plan make_plan(Random& random);

} // namespace rpmem::simulation
