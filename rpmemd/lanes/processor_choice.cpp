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

// The thread goes where it may when it may run nowhere else, and stays there when it may again.
// False: there is nowhere to go, or there are more processors than a set has room for.
template <typename Choose>
bool move(Choose choose) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return false;
    const cpu_set_t chosen = choose(allowed);
    if (CPU_COUNT(&chosen) == 0 || sched_setaffinity(0, sizeof(chosen), &chosen) != 0)
        return false;
    static_cast<void>(sched_setaffinity(0, sizeof(allowed), &allowed));
    return true;
}

cpu_set_t without(cpu_set_t set, int processor) {
    CPU_CLR(processor, &set);
    return set;
}

cpu_set_t only(int processor, const cpu_set_t& of) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (CPU_ISSET(processor, &of))
        CPU_SET(processor, &set);
    return set;
}

} // namespace

void ProcessorChoice::leave(unsigned number, Clock::time_point now) {
    times_shared_ = 0;
    if (now < stays_until_)
        return;
    stays_until_ = now + between_moves;
    const int processor = static_cast<int>(number) - 1;
    if (!move([=](const cpu_set_t& allowed) { return without(allowed, processor); }))
        return;
    left_ = processor;
    moved_at_ = now;
    times_kept_away_ = 0;
}

void ProcessorChoice::was_kept_away(Clock::time_point now) {
    if (now - moved_at_ > trial || ++times_kept_away_ < most_times_kept_away)
        return;
    stays_until_ = now + after_a_wrong_move;
    moved_at_ = {};
    static_cast<void>(move([this](const cpu_set_t& allowed) { return only(left_, allowed); }));
}

} // namespace rpmem::target
