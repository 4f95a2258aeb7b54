// SPDX-License-Identifier: BSD-3-Clause
// Tests PendingConnections and the back-off of refused lanes on a virtual clock, without sockets. A
// simulated listener serves 1024 lanes while unauthenticated connections arrive at up to 2000 per
// second. The test fails if a connection keeps its slot too long or loses it too early, or if lanes
// need 5 s or more to be authenticated.
#include "common/transport/pending_connections.hpp"
#include "common/transport/retry.hpp"
#include "tests/support/expect.hpp"

#include <queue>
#include <unordered_map>

namespace rpmem::transport {
namespace {

using namespace std::chrono_literals;
using Id = PendingConnections::Id;

constexpr PendingConnections::Time start{1h};

// Adds COUNT connections with a valid first message, beginning with id FIRST.
void fill_known(PendingConnections& slots, Id first, std::size_t count,
                PendingConnections::Time now) {
    for (Id id = first; id < first + count; ++id) {
        EXPECT_FALSE(slots.arrived(id, now));
        EXPECT_TRUE(slots.recognised(id, now).admitted);
    }
}

TEST(PendingConnections, TheOldestSilentOneMakesRoomAtOnce) {
    PendingConnections slots;
    for (Id id = 0; id < max_silent; ++id)
        EXPECT_FALSE(slots.arrived(id, start));
    EXPECT_EQ(slots.arrived(100, start), std::optional<Id>(0));
    slots.left(1);
    EXPECT_FALSE(slots.arrived(101, start));
    EXPECT_EQ(slots.arrived(102, start), std::optional<Id>(2));
    EXPECT_EQ(slots.silent(), max_silent);
}

TEST(PendingConnections, KnownOnesLeaveTheSilentSlots) {
    PendingConnections slots;
    fill_known(slots, 0, max_known, start);
    EXPECT_EQ(slots.silent(), 0U);
    EXPECT_EQ(slots.known(), max_known);
    slots.left(5);
    EXPECT_EQ(slots.known(), max_known - 1);
}

TEST(PendingConnections, AKnownOneIsNotEvictedBeforeASecond) {
    PendingConnections slots;
    fill_known(slots, 0, max_known, start);
    EXPECT_FALSE(slots.arrived(100, start));
    auto admission = slots.recognised(100, start + 999ms);
    EXPECT_FALSE(admission.admitted);
    EXPECT_FALSE(admission.ended);
    EXPECT_EQ(slots.silent(), 0U); // the refused connection has no slot
    EXPECT_FALSE(slots.arrived(101, start));
    admission = slots.recognised(101, start + 1s);
    EXPECT_TRUE(admission.admitted);
    EXPECT_EQ(admission.ended, std::optional<Id>(0));
    EXPECT_EQ(slots.known(), max_known);
}

TEST(PendingConnections, WhoHasNoSlotIsNotAdmitted) {
    PendingConnections slots;
    EXPECT_FALSE(slots.recognised(7, start).admitted);
    slots.left(7);
    EXPECT_EQ(slots.known(), 0U);
}

TEST(PendingConnections, NobodyStaysLongerThanTenSeconds) {
    PendingConnections slots;
    EXPECT_FALSE(slots.deadline());
    EXPECT_FALSE(slots.arrived(1, start));
    EXPECT_FALSE(slots.arrived(2, start + 1s));
    EXPECT_FALSE(slots.arrived(3, start + 2s));
    // Connection 2 becomes known after connection 3, but its time still counts from its arrival.
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

// Checks the rules after each of many random steps, with ids from a small range and an irregular
// clock.
TEST(PendingConnections, RulesHoldWhateverHappens) {
    struct Peer {
        PendingConnections::Time arrived;
        std::optional<PendingConnections::Time> known;
    };
    PendingConnections slots;
    std::vector<std::optional<Peer>> peers(300);
    std::uint64_t random = 1;
    const auto draw = [&random](std::uint64_t below) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        return (random >> 33) % below;
    };
    unsigned evictions = 0;
    PendingConnections::Time now = start;
    for (int step = 0; step < 20'000; ++step) {
        now += std::chrono::microseconds(draw(20'000));
        while (const auto gone = slots.expired(now)) {
            ASSERT_TRUE(peers[gone->id]);
            ASSERT_GE(now - peers[gone->id]->arrived, unproven_timeout);
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
                ASSERT_LT(now - each->arrived, unproven_timeout);
            }
        ASSERT_EQ(slots.silent(), silent);
        ASSERT_EQ(slots.known(), known);
    }
    EXPECT_GT(evictions, 10U);
}

// Simulates a listener on a virtual clock. Genuine lanes connect while unauthenticated connections
// hold as many slots as they can get.
using Time = PendingConnections::Time;
using Duration = std::chrono::nanoseconds;

constexpr Time opening{1h}; // when the listener starts
constexpr unsigned honest_lanes = 1024;
constexpr Duration cost = 20us; // processor time of the listener for each event

struct Load {
    unsigned unauthenticated_a_second;
    Duration round_trip;
    Duration slowest_first; // maximum time between a connection and its first message
};

enum class What { stranger, connect, first, third, refused };
struct Arrival {
    Time at;
    What what;
    Id id = 0;         // the connection, for `first` and `third`
    unsigned lane = 0; // for `connect` and `refused`
    bool operator>(const Arrival& other) const { return at > other.at; }
};

class SimulatedListener {
public:
    explicit SimulatedListener(const Load& load) : load_(load), tries_(honest_lanes, 0) {
        for (Id id = 0; id < max_silent; ++id)
            arrive(id, opening); // unauthenticated connections hold all slots from the start
        next_id_ = max_silent;
        if (load.unauthenticated_a_second > 0)
            add({.at = opening, .what = What::stranger});
        for (unsigned lane = 0; lane < honest_lanes; ++lane)
            add({.at = opening, .what = What::connect, .lane = lane});
    }

    // Returns the time until all lanes are authenticated, or one minute if that takes longer.
    Duration run() {
        while (proven_ < honest_lanes && !events_.empty() && events_.top().at < opening + 1min) {
            const Arrival event = events_.top();
            events_.pop();
            // The listener has one thread. Later events wait in the kernel.
            now_ = std::max(now_, event.at) + cost;
            while (const auto gone = slots_.expired(now_))
                lost(gone->id);
            take(event);
        }
        return proven_ == honest_lanes ? now_ - opening : Duration(1min);
    }

private:
    void add(const Arrival& event) { events_.push(event); }

    void arrive(Id id, Time now) {
        if (const auto ended = slots_.arrived(id, now))
            lost(*ended);
    }

    void take(const Arrival& event) {
        switch (event.what) {
        case What::stranger:
            arrive(next_id_++, now_);
            add({.at = event.at + Duration(1s) / load_.unauthenticated_a_second,
                 .what = What::stranger});
            return;
        case What::connect: {
            const Id id = next_id_++;
            honest_[id] = {.lane = event.lane, .known = {}};
            arrive(id, now_);
            add({.at = event.at + draw(load_.slowest_first), .what = What::first, .id = id});
            return;
        }
        case What::first:
            return recognise(event.id);
        case What::third:
            if (honest_.erase(event.id) > 0) {
                slots_.left(event.id);
                ++proven_;
            }
            return;
        case What::refused:
            return again(event.lane);
        }
    }

    void recognise(Id id) {
        const auto here = honest_.find(id);
        if (here == honest_.end())
            return; // the listener has ended it
        const auto admission = slots_.recognised(id, now_);
        if (admission.ended) {
            EXPECT_GE(now_ - honest_.at(*admission.ended).known, shortest_known);
            lost(*admission.ended);
        }
        if (!admission.admitted)
            return lost(id);
        here->second.known = now_;
        add({.at = now_ + load_.round_trip, .what = What::third, .id = id});
    }

    // The listener has ended connection ID. A genuine lane notices that and retries.
    void lost(Id id) {
        if (const auto here = honest_.find(id); here != honest_.end()) {
            add({.at = now_ + load_.round_trip / 2,
                 .what = What::refused,
                 .lane = here->second.lane});
            honest_.erase(here);
        }
    }

    void again(unsigned lane) {
        const Duration pause = retry_pause(++tries_[lane], random());
        add({.at = now_ + pause + load_.round_trip, .what = What::connect, .lane = lane});
    }

    std::uint32_t random() {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(random_ >> 32);
    }
    Duration draw(Duration below) { return below * (random() >> 12) / (1U << 20); }

    struct Honest {
        unsigned lane;
        Time known;
    };
    Load load_;
    PendingConnections slots_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> events_;
    std::unordered_map<Id, Honest> honest_;
    std::vector<unsigned> tries_;
    Id next_id_ = 0;
    Time now_ = opening;
    unsigned proven_ = 0;
    std::uint64_t random_ = 1; // fixed, so that every run is the same
};

TEST(SlotsUnderLoad, HonestLanesGetInWhileStrangersHoldTheSlots) {
    for (const unsigned unauthenticated : {0U, 200U, 2000U})
        for (const Duration round_trip : {100us, 20'000us, 100'000us})
            for (const Duration first : {0us, 1'000us, 20'000us}) {
                const Duration took =
                    SimulatedListener({.unauthenticated_a_second = unauthenticated,
                                       .round_trip = round_trip,
                                       .slowest_first = first})
                        .run();
                EXPECT_LT(took, 5s)
                    << unauthenticated << " unauthenticated connections a second, a round trip of "
                    << round_trip.count() << " ns, the first message after " << first.count()
                    << " ns";
            }
}

// 200 unauthenticated connections a second must not delay the lanes noticeably.
TEST(SlotsUnderLoad, StrangersHardlyDelayHonestLanes) {
    const Load quiet{.unauthenticated_a_second = 0, .round_trip = 1ms, .slowest_first = 1ms};
    Load loud = quiet;
    loud.unauthenticated_a_second = 200;
    EXPECT_LT(SimulatedListener(loud).run(), SimulatedListener(quiet).run() + 200ms);
}

TEST(Retry, DoublesFromFiftyMillisecondsToASecond) {
    constexpr std::uint32_t all = 0xffffffff;
    EXPECT_EQ(retry_pause(1, 0), 25ms);
    EXPECT_NEAR(static_cast<double>(retry_pause(1, all).count()), 50'000, 1);
    EXPECT_EQ(retry_pause(2, 0), 50ms);
    EXPECT_EQ(retry_pause(5, 0), 400ms);
    EXPECT_EQ(retry_pause(6, 0), 500ms);
    EXPECT_EQ(retry_pause(0xffffffff, 0), 500ms);
    EXPECT_LE(retry_pause(0xffffffff, all), 1s);
    EXPECT_EQ(retry_pause(0, 0), 25ms);
}

} // namespace
} // namespace rpmem::transport
