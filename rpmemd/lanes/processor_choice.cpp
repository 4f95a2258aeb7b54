#include "lanes/processor_choice.hpp"

#include <sched.h>

namespace rpmem::target {
namespace {

// Moving takes tens of microseconds.
constexpr std::chrono::milliseconds between_moves(10);
// So often, and so soon after a move, shows that it was wrong.
constexpr unsigned most_times_kept_away = 3;
constexpr std::chrono::milliseconds trial(100);
constexpr std::chrono::seconds after_a_wrong_move(1);

// The thread goes to another processor when it may not run on its own any more, and stays there
// when it may again. False: it has nowhere to go.
bool move_away_from(unsigned processor) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false; // more processors than the set has room for
    cpu_set_t others = allowed;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0)
        return false;
    static_cast<void>(sched_setaffinity(0, sizeof(allowed), &allowed));
    return true;
}

} // namespace

void ProcessorChoice::leave(unsigned number, Clock::time_point now) {
    times_shared_ = 0;
    if (now < stays_until_)
        return;
    stays_until_ = now + between_moves;
    if (!move_away_from(number - 1))
        return;
    moved_at_ = now;
    times_kept_away_ = 0;
}

void ProcessorChoice::was_kept_away(Clock::time_point now) {
    if (now - moved_at_ > trial || ++times_kept_away_ < most_times_kept_away)
        return;
    stays_until_ = now + after_a_wrong_move;
    moved_at_ = {};
    if (const int processor = sched_getcpu(); processor >= 0)
        static_cast<void>(move_away_from(static_cast<unsigned>(processor)));
}

} // namespace rpmem::target
