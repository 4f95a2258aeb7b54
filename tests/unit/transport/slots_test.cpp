#include "common/transport/slots.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rpmem::transport {
namespace {

using namespace std::chrono_literals;
using Id = Slots::Id;

constexpr Slots::Time start{1h};

// COUNT connections with a right first message, from id FIRST on.
void fill_known(Slots& slots, Id first, std::size_t count, Slots::Time now) {
    for (Id id = first; id < first + count; ++id) {
        EXPECT_FALSE(slots.arrived(id, now));
        EXPECT_TRUE(slots.recognised(id, now).admitted);
    }
}

TEST(Slots, TheOldestSilentOneMakesRoomAtOnce) {
    Slots slots;
    for (Id id = 0; id < most_silent; ++id)
        EXPECT_FALSE(slots.arrived(id, start));
    EXPECT_EQ(slots.arrived(100, start), std::optional<Id>(0));
    slots.left(1);
    EXPECT_FALSE(slots.arrived(101, start));
    EXPECT_EQ(slots.arrived(102, start), std::optional<Id>(2));
    EXPECT_EQ(slots.silent(), most_silent);
}

TEST(Slots, KnownOnesLeaveTheSilentSlots) {
    Slots slots;
    fill_known(slots, 0, most_known, start);
    EXPECT_EQ(slots.silent(), 0U);
    EXPECT_EQ(slots.known(), most_known);
    slots.left(5);
    EXPECT_EQ(slots.known(), most_known - 1);
}

TEST(Slots, AKnownOneIsNotEvictedBeforeASecond) {
    Slots slots;
    fill_known(slots, 0, most_known, start);
    EXPECT_FALSE(slots.arrived(100, start));
    auto admission = slots.recognised(100, start + 999ms);
    EXPECT_FALSE(admission.admitted);
    EXPECT_FALSE(admission.ended);
    EXPECT_EQ(slots.silent(), 0U); // the busy one has gone
    EXPECT_FALSE(slots.arrived(101, start));
    admission = slots.recognised(101, start + 1s);
    EXPECT_TRUE(admission.admitted);
    EXPECT_EQ(admission.ended, std::optional<Id>(0));
    EXPECT_EQ(slots.known(), most_known);
}

TEST(Slots, WhoHasNoSlotIsNotAdmitted) {
    Slots slots;
    EXPECT_FALSE(slots.recognised(7, start).admitted);
    slots.left(7);
    EXPECT_EQ(slots.known(), 0U);
}

TEST(Slots, NobodyStaysLongerThanTenSeconds) {
    Slots slots;
    EXPECT_FALSE(slots.deadline());
    EXPECT_FALSE(slots.arrived(1, start));
    EXPECT_FALSE(slots.arrived(2, start + 1s));
    EXPECT_FALSE(slots.arrived(3, start + 2s));
    // Later known than those who came after it: its time counts from its arrival all the same.
    EXPECT_TRUE(slots.recognised(3, start + 3s).admitted);
    EXPECT_TRUE(slots.recognised(2, start + 9s).admitted);
    EXPECT_EQ(slots.deadline(), std::optional(start + 10s));
    EXPECT_FALSE(slots.expired(start + 10s - 1ns));
    auto gone = slots.expired(start + 10s);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->id, 1U);
    EXPECT_FALSE(gone->known);
    EXPECT_EQ(slots.deadline(), std::optional(start + 11s));
    EXPECT_FALSE(slots.expired(start + 10s));
    gone = slots.expired(start + 20s);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->id, 2U);
    EXPECT_TRUE(gone->known);
    gone = slots.expired(start + 20s);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->id, 3U);
    EXPECT_FALSE(slots.expired(start + 20s));
    EXPECT_FALSE(slots.deadline());
}

// Ids that are drawn from a small range, and a clock that moves irregularly: whatever happens, the
// rules hold.
TEST(Slots, RulesHoldWhateverHappens) {
    struct Peer {
        Slots::Time arrived;
        std::optional<Slots::Time> known;
    };
    Slots slots;
    std::vector<std::optional<Peer>> peers(300);
    std::uint64_t random = 1;
    const auto draw = [&random](std::uint64_t below) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        return (random >> 33) % below;
    };
    unsigned evictions = 0;
    Slots::Time now = start;
    for (int step = 0; step < 20'000; ++step) {
        now += std::chrono::microseconds(draw(20'000));
        while (const auto gone = slots.expired(now)) {
            ASSERT_TRUE(peers[gone->id]);
            ASSERT_GE(now - peers[gone->id]->arrived, longest_unproven);
            ASSERT_EQ(gone->known, !!peers[gone->id]->known);
            peers[gone->id].reset();
        }
        const Id id = draw(peers.size());
        auto& peer = peers[id];
        if (!peer) {
            peer = Peer{.arrived = now, .known = {}};
            if (const auto ended = slots.arrived(id, now)) {
                ASSERT_FALSE(peers[*ended]->known);
                peers[*ended].reset();
            }
        } else if (!peer->known) {
            const auto admission = slots.recognised(id, now);
            if (admission.ended) {
                ASSERT_GE(now - *peers[*admission.ended]->known, shortest_known);
                peers[*admission.ended].reset();
                ++evictions;
            }
            if (admission.admitted)
                peer->known = now;
            else
                peer.reset();
        } else if (draw(10) == 0) {
            slots.left(id);
            peer.reset();
        }
        std::size_t silent = 0, known = 0;
        for (const auto& each : peers)
            if (each) {
                ++(each->known ? known : silent);
                ASSERT_LT(now - each->arrived, longest_unproven);
            }
        ASSERT_EQ(slots.silent(), silent);
        ASSERT_EQ(slots.known(), known);
    }
    EXPECT_GT(evictions, 10U);
}

} // namespace
} // namespace rpmem::transport
