// SPDX-License-Identifier: BSD-3-Clause
// Tests the simulation of lanes itself: a seed always gives the same history, the model detects
// wrong bytes, each planted fault is found, and each kind of trouble happens and makes calls fail.
// A simulation that depends on anything but its seed, or that misses a fault, makes a test fail.
#include "tests/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rpmem::simulation {
namespace {

TEST(SimulatedWorld, ASeedTellsTheSameHistoryAgain) {
    std::set<std::uint64_t> hashes;
    Arena arena;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        Arena other;
        const Outcome outcome = simulate(arena, {.seed = seed});
        EXPECT_EQ(outcome.hash, simulate(other, {.seed = seed}).hash) << seed;
        hashes.insert(outcome.hash);
    }
    EXPECT_EQ(hashes.size(), 30U) << "and each seed another one";
}

TEST(SimulatedWorld, TheClockGoesOnWhenNobodyCan) {
    Stacks stacks;
    World world(1, stacks, false);
    std::array<Time, 2> ended{};
    for (std::size_t i = 0; i < ended.size(); ++i)
        world.start("sleeper", [&world, &ended, i] {
            world.sleep((2 - i) * second);
            ended[i] = world.now();
        });
    world.run();
    EXPECT_EQ(world.finding(), "");
    EXPECT_EQ(ended, (std::array<Time, 2>{2 * second, second}));
}

TEST(SimulatedWorld, WhoWaitsForEverIsFound) {
    Stacks stacks;
    World world(1, stacks, false);
    world.start("waiter", [&world] { world.block(never); });
    world.run();
    EXPECT_NE(world.finding().find("waits for ever"), std::string::npos) << world.finding();
}

TEST(SimulatedWorld, WhoNeverWaitsIsFound) {
    Stacks stacks;
    World world(1, stacks, false);
    world.start("runner", [&world] {
        while (true)
            world.take_turn();
    });
    world.run();
    EXPECT_NE(world.finding().find("runs without end"), std::string::npos) << world.finding();
}

class SimulatedModel : public ::testing::Test {
protected:
    static constexpr Range range{64, 8};

    Stacks stacks;
    World world{1, stacks, false};
    std::vector<std::byte> pool = std::vector<std::byte>(pool_size);
    std::vector<std::byte> durable = std::vector<std::byte>(pool_size);
    Model model{world, 1, pool, durable};

    void copy(std::vector<std::byte>& image, std::size_t offset, std::size_t length) {
        std::copy_n(model.memory() + offset, length,
                    image.begin() + static_cast<std::ptrdiff_t>(offset));
    }
};

TEST_F(SimulatedModel, WhatIsThereMayBeNewerThanWhatWasAcknowledged) {
    ASSERT_TRUE(model.store(0, range));
    model.flushed(0, range);
    ASSERT_TRUE(model.store(0, {64, 4}));
    copy(durable, 64, 8);
    copy(pool, 64, 8);
    model.acknowledged(0);
    model.check_power_cut();
    EXPECT_EQ(world.finding(), "");
}

TEST_F(SimulatedModel, AnAcknowledgedByteThatIsNotDurableIsFound) {
    ASSERT_TRUE(model.store(0, range));
    model.flushed(0, range);
    copy(durable, 64, 7);
    model.acknowledged(0);
    EXPECT_NE(world.finding().find("byte 71 "), std::string::npos) << world.finding();
}

TEST_F(SimulatedModel, AByteThatNobodyStoredThereIsFound) {
    durable[100] = durable[101];
    model.check_power_cut();
    EXPECT_NE(world.finding().find("byte 100 "), std::string::npos) << world.finding();
}

TEST_F(SimulatedModel, AnOlderByteOverANewerOneIsFound) {
    ASSERT_TRUE(model.store(0, range));
    model.flushed(0, range);
    copy(durable, 64, 8);
    model.acknowledged(0);
    model.check_power_cut(); // the pool still has what was there before
    EXPECT_NE(world.finding().find("overwritten"), std::string::npos) << world.finding();
}

struct Found {
    Planted planted;
    std::uint64_t within; // seeds
    const char* words;    // of the finding
};
void PrintTo(const Found& found, std::ostream* stream) { *stream << name_of(found.planted); }

class PlantedFault : public ::testing::TestWithParam<Found> {};

INSTANTIATE_TEST_SUITE_P(
    , PlantedFault,
    ::testing::Values(Found{Planted::ack_before_persist, 100, "acknowledged and is not durable"},
                      Found{Planted::skipped_lane, 100, "acknowledged and is not durable"},
                      Found{Planted::lost_credit, 30, "timed out\", and nothing was wrong"},
                      Found{Planted::stale_ack, 30, "Bad message\", and nothing was wrong"},
                      Found{Planted::b_before_a, 30, "acknowledged and is not durable"},
                      Found{Planted::hidden_error, 500, "acknowledged and is not durable"},
                      Found{Planted::no_deadline, 100, "a connection without a proof"},
                      Found{Planted::same_nonce, 300, "an unauthenticated connection was admitted"},
                      Found{Planted::left_early, 300, "and not why"},
                      Found{Planted::lost_wake, 100, "timed out\", and nothing was wrong"}),
    [](const auto& found) {
        std::string name = name_of(found.param.planted);
        std::erase(name, '-');
        return name;
    });

TEST_P(PlantedFault, IsFound) {
    Arena arena;
    for (std::uint64_t seed = 1; seed <= GetParam().within; ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed, .planted = GetParam().planted});
        if (outcome.finding.find(GetParam().words) == std::string::npos)
            continue;
        EXPECT_EQ(simulate(arena, {.seed = seed}).finding, "") << "without the fault";
        return;
    }
    ADD_FAILURE() << "nothing in " << GetParam().within << " seeds";
}

bool does_harm(Trouble trouble) {
    return trouble != Trouble::none && trouble != Trouble::pause && trouble != Trouble::slow_sync;
}

// A simulation proves nothing about a trouble that it never causes.
TEST(Troubles, HappenAndMakeCallsFail) {
    Arena arena;
    std::set<Trouble> missing;
    for (std::size_t i = 1; i < static_cast<std::size_t>(Trouble::count); ++i)
        missing.insert(static_cast<Trouble>(i));
    for (std::uint64_t seed = 1; seed <= 300 && !missing.empty(); ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed});
        const bool has_failed = outcome.tally.failed_calls > 0;
        EXPECT_TRUE(does_harm(outcome.trouble) || !has_failed) << seed;
        if (outcome.troubled && has_failed == does_harm(outcome.trouble))
            missing.erase(outcome.trouble);
    }
    for (const Trouble trouble : missing)
        ADD_FAILURE() << name_of(trouble);
}

TEST(Connecting, IsTriedAgainAndEndingsAreTold) {
    Arena arena;
    std::uint64_t tries = 0;
    std::uint64_t notified = 0;
    for (std::uint64_t seed = 1; seed <= 3000 && (tries == 0 || notified == 0); ++seed) {
        const Outcome outcome = simulate(arena, {.seed = seed});
        if (!does_harm(
                outcome.trouble)) // so a retry means that unauthenticated connections had the slots
            tries += outcome.tally.tries;
        notified += outcome.tally.notified;
    }
    EXPECT_GT(tries, 0U);
    EXPECT_GT(notified, 0U);
}

} // namespace
} // namespace rpmem::simulation
