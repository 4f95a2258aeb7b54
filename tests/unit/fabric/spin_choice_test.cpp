// Two ends that wait for each other, on a machine that wakes whoever sleeps after a given time.
#include "fabric/spin_choice.hpp"

#include <gtest/gtest.h>

namespace rpmem::fabric {
namespace {

using Length = SpinChoice::Length;

// Microseconds.
constexpr int usual_time = 50;
constexpr int longer_time = 400;
constexpr int answer_time = 5; // of somebody who is awake

// One end. Returns how long after AFTER, when what it waits for comes, it goes on.
class End {
public:
    End(bool is_for_answers, int wake_time) : choice_(is_for_answers), wake_time_(wake_time) {}

    int wait(int after) {
        const Length length = choice_.next();
        longer_ += length == Length::longer ? 1 : 0;
        none_ += length == Length::none ? 1 : 0;
        slept_ = false;
        if (length != Length::none && after <= usual_time) {
            choice_.was_quick();
        } else if (length == Length::longer && after <= longer_time) {
            choice_.was_late();
        } else {
            if (length != Length::none) {
                choice_.was_in_vain();
                if (after + wake_time_ <= 2 * longer_time)
                    choice_.was_missed();
            }
            slept_ = true;
        }
        return slept_ ? wake_time_ : 0;
    }

    void fall_asleep() {
        for (int i = 0; i < 100 && choice_.next() != Length::none; ++i)
            choice_.was_in_vain();
    }

    [[nodiscard]] bool slept() const { return slept_; }
    [[nodiscard]] int longer() const { return longer_; }
    [[nodiscard]] int none() const { return none_; }

private:
    SpinChoice choice_;
    int wake_time_;
    bool slept_ = false;
    int longer_ = 0;
    int none_ = 0;
};

// Requests one after the other, from when both ends are asleep: how many until neither has slept
// for a hundred of them; LIMIT if that is never so.
int requests_until_awake(bool asks_for_answers, int wake_time, int offset, int limit) {
    End initiator(asks_for_answers, wake_time);
    End target(false, wake_time);
    initiator.fall_asleep();
    target.fall_asleep();
    for (int i = 0; i < offset; ++i)
        target.wait(1'000'000); // the application had nothing to ask
    int awake = 0;
    int woken_late = wake_time;
    for (int request = 1; request <= limit; ++request) {
        const int target_late = target.wait(answer_time + woken_late);
        woken_late = initiator.wait(answer_time + target_late);
        awake = initiator.slept() || target.slept() ? 0 : awake + 1;
        if (awake == 100)
            return request - 100;
    }
    return limit;
}

// 150: what it takes on a virtual machine whose host is busy, and more than both ends spin.
TEST(SpinChoice, TwoEndsThatSleepWakeEachOther) {
    constexpr int limit = 10000;
    int asleep = 0;
    for (const int wake_time : {10, 30, 60, 150, 300})
        for (int offset = 0; offset < 32; ++offset) {
            EXPECT_LT(requests_until_awake(true, wake_time, offset, limit), 40)
                << wake_time << ' ' << offset;
            asleep += requests_until_awake(false, wake_time, offset, limit) == limit ? 1 : 0;
        }
    EXPECT_GT(asleep, 0) << "where nobody knows that the other may be asleep, both stay so";
}

// How many of a hundred requests one of two ends sleeps through, that were awake before the
// application had nothing to ask for a while.
int late_after_a_break(bool asks_for_answers, int wake_time) {
    End initiator(asks_for_answers, wake_time);
    End target(false, wake_time);
    int late = 0;
    for (int request = 0, woken_late = 1'000'000; request < 100; ++request) {
        const int target_late = target.wait(answer_time + woken_late);
        woken_late = initiator.wait(answer_time + target_late);
        late += initiator.slept() || target.slept() ? 1 : 0;
    }
    return late;
}

TEST(SpinChoice, TwoEndsAreAwakeSoonAfterABreak) {
    for (const int wake_time : {10, 30, 60, 100, 150, 300})
        EXPECT_LE(late_after_a_break(true, wake_time), 2) << wake_time;
    EXPECT_GT(late_after_a_break(false, 60), 4) << "otherwise each keeps the other asleep";
}

TEST(SpinChoice, ASlowTargetIsLeftToItsWork) {
    for (const int time : {100, 300, 500, 1000}) {
        End initiator(true, 30);
        for (int i = 0; i < 100000; ++i)
            initiator.wait(time);
        EXPECT_LT(initiator.longer(), time <= longer_time ? 2000 : 4000) << time;
        EXPECT_GT(initiator.none(), 90000) << time;
    }
}

// Its time is the application's.
TEST(SpinChoice, ATargetWaitsNoLongerForASlowInitiator) {
    End target(false, 30);
    for (int i = 0; i < 100000; ++i)
        target.wait(100);
    EXPECT_LT(target.longer(), 4000);
    EXPECT_GT(target.none(), 80000);
}

} // namespace
} // namespace rpmem::fabric
