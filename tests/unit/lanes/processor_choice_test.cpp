#include "lanes/processor_choice.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace rpmem::target {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

cpu_set_t allowed() {
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    return set;
}

// Counted from 1.
unsigned here() { return static_cast<unsigned>(sched_getcpu()) + 1; }

class ProcessorChoiceTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (CPU_COUNT(&before_) < 2)
            GTEST_SKIP() << "there is one processor";
    }
    ~ProcessorChoiceTest() override { sched_setaffinity(0, sizeof(before_), &before_); }

    // The kernel may move us at any time, but does not do so again and again.
    template <typename Act>
    bool moves(Act act) const {
        constexpr int tries = 20;
        int moved = 0;
        for (int i = 0; i < tries; ++i) {
            const unsigned start = here();
            act(start);
            moved += here() != start ? 1 : 0;
            const cpu_set_t now = allowed();
            EXPECT_TRUE(CPU_EQUAL(&now, &before_));
        }
        EXPECT_TRUE(moved <= tries / 4 || moved >= tries * 3 / 4) << moved;
        return moved >= tries * 3 / 4;
    }

    ProcessorChoice::Clock::time_point after(milliseconds time) { return now_ += time; }

    const cpu_set_t before_ = allowed();
    ProcessorChoice::Clock::time_point now_ = ProcessorChoice::Clock::now();
    ProcessorChoice choice_;
};

TEST_F(ProcessorChoiceTest, AProcessorIsLeftForAnother) {
    EXPECT_TRUE(moves([&](unsigned start) { choice_.leave(start, after(milliseconds(20))); }));
    EXPECT_FALSE(moves([](unsigned) {}));
}

TEST_F(ProcessorChoiceTest, NotTooOften) {
    choice_.leave(here(), now_);
    EXPECT_FALSE(moves([&](unsigned start) { choice_.leave(start, after(milliseconds(0))); }));
    EXPECT_TRUE(moves([&](unsigned start) { choice_.leave(start, after(milliseconds(11))); }));
}

TEST_F(ProcessorChoiceTest, OnlyOneThatIsSharedForSomeTime) {
    ProcessorChoice choice;
    const auto look = [&](unsigned own, unsigned of_initiator, unsigned times) {
        for (unsigned i = 0; i < times; ++i)
            choice.look(own, of_initiator);
    };
    constexpr unsigned enough = ProcessorChoice::enough_times;
    EXPECT_TRUE(moves([&](unsigned start) {
        choice = ProcessorChoice(); // whose last move is long ago
        look(start, start, enough);
    }));
    choice = ProcessorChoice();
    EXPECT_FALSE(moves([&](unsigned start) {
        look(start, start, enough - 1);
        look(start, start + 1, 1);
        look(start, start, enough - 1);
        look(0, 0, 1);
    }));
    EXPECT_FALSE(moves([&](unsigned start) { look(start, start + 1, 2 * enough); }));
    EXPECT_FALSE(moves([&](unsigned) { look(0, 0, 2 * enough); }));
}

TEST_F(ProcessorChoiceTest, AThreadThatMayRunNowhereElseStays) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here() - 1, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    const unsigned start = here();
    choice_.leave(start, now_);
    EXPECT_EQ(here(), start);
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
}

TEST_F(ProcessorChoiceTest, NumbersOfProcessorsThatThereAreNot) {
    for (const unsigned number : {1024U, 1025U, 65535U})
        EXPECT_FALSE(moves([&](unsigned) { choice_.leave(number, after(seconds(2))); })) << number;
}

TEST_F(ProcessorChoiceTest, AfterAWrongMoveItGoesBackAndStaysForAWhile) {
    const auto kept_away = [this](int times, milliseconds each) {
        for (int i = 0; i < times; ++i)
            choice_.was_kept_away(after(each));
    };
    // Not seldom, not late.
    EXPECT_TRUE(moves([&](unsigned start) {
        choice_.leave(start, after(seconds(2)));
        kept_away(2, milliseconds(1));
    }));
    EXPECT_TRUE(moves([&](unsigned start) {
        choice_.leave(start, after(seconds(2)));
        after(milliseconds(200));
        kept_away(10, milliseconds(1));
    }));
    // Often and soon: there and back again.
    EXPECT_FALSE(moves([&](unsigned start) {
        choice_.leave(start, after(seconds(2)));
        kept_away(3, milliseconds(1));
        choice_.leave(here(), after(milliseconds(900)));
    }));
}

} // namespace
} // namespace rpmem::target
