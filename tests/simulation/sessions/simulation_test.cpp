// SPDX-License-Identifier: BSD-3-Clause
// Tests the simulation of sessions itself: a seed always gives the same history, all faults happen,
// pools are reconnected, and each planted fault is found. A simulation that depends on anything but
// its seed, or that misses a planted fault, makes a test fail.
#include "tests/simulation/sessions/simulation.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rpmem::simulation::sessions {
namespace {

TEST(SimulatedSessions, ASeedTellsTheSameHistoryAgain) {
    std::set<std::uint64_t> hashes;
    Arena arena;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Arena other;
        const Outcome outcome = simulate(arena, {.seed = seed});
        EXPECT_EQ(outcome.hash, simulate(other, {.seed = seed}).hash) << seed;
        hashes.insert(outcome.hash);
    }
    EXPECT_EQ(hashes.size(), 20U) << "and each seed another one";
}

TEST(SimulatedSessions, AllFaultsHappenAndPoolsAreReconnected) {
    Arena arena;
    Outcome sum;
    std::uint64_t reconnected = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed});
        for (std::size_t i = 0; i < sum.faults.size(); ++i)
            sum.faults[i] += outcome.faults[i];
        sum.failed_calls += outcome.failed_calls;
        sum.takeovers += outcome.takeovers;
        sum.absences += outcome.absences;
        sum.joins += outcome.joins;
        if (outcome.failed_calls == 0 && outcome.logins > 1)
            ++reconnected;
    }
    for (std::size_t i = 0; i < sum.faults.size(); ++i)
        EXPECT_GT(sum.faults[i], 0U) << fault_names[i];
    EXPECT_GT(sum.failed_calls, 0U) << "where a fault lasts too long";
    EXPECT_GT(sum.takeovers, 0U);
    EXPECT_GT(reconnected, 0U);
    EXPECT_GT(sum.absences, 0U) << "of a program that goes on alone";
    EXPECT_GT(sum.joins, 0U);
}

struct Found {
    Planted planted;
    const char* words; // in the finding
};

class PlantedInSessions : public ::testing::TestWithParam<Found> {};

constexpr const char* lost = "acknowledged and is not durable";
constexpr const char* promised = "was promised by a call and is not durable";
constexpr const char* not_there = "is not durable"; // a byte of either kind
constexpr std::uint64_t max_seeds = 100000;

INSTANTIATE_TEST_SUITE_P(
    All, PlantedInSessions,
    ::testing::Values(Found{Planted::replay_misses_lane, lost},
                      Found{Planted::replay_drops_last, lost},
                      Found{Planted::ack_of_other_generation, lost},
                      Found{Planted::stale_ack, "violated the protocol"},
                      Found{Planted::exchanged_lanes, lost},
                      Found{Planted::no_fence, "writes to a pool that another one has"},
                      Found{Planted::old_heartbeat, "took"},
                      Found{Planted::no_incarnation, "another initiator has had the pool"},
                      Found{Planted::close_without_drain, lost}, Found{Planted::hidden_loss, lost},
                      Found{Planted::no_bound, "without a newly acknowledged range"},
                      Found{Planted::claim_by_path, "another initiator has had the pool"},
                      Found{Planted::no_inode_generation, "on an older backup of the part"},
                      Found{Planted::tested_mark, promised}, Found{Planted::late_clear, not_there},
                      Found{Planted::owed_not_marked, promised}, Found{Planted::no_gate, not_there},
                      Found{Planted::early_record, promised},
                      Found{Planted::push_unproved, "was lost with the power"},
                      Found{Planted::unsynced_record, "the target's record does not say"}),
    [](const auto& found) {
        std::string name = planted_names[static_cast<std::size_t>(found.param.planted)];
        std::erase(name, '-');
        return name;
    });

TEST_P(PlantedInSessions, IsFound) {
    Arena arena;
    for (std::uint64_t seed = 1; seed <= max_seeds; ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed, .planted = GetParam().planted});
        if (outcome.finding.find(GetParam().words) == std::string::npos)
            continue;
        EXPECT_EQ(simulate(arena, {.seed = seed}).finding, "") << "without the fault";
        RecordProperty("seed", static_cast<int>(seed));
        return;
    }
    ADD_FAILURE() << "nothing in " << max_seeds << " seeds";
}

} // namespace
} // namespace rpmem::simulation::sessions
