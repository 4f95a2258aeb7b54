// On which processor the thread of a worker runs. That is the kernel's business, but for one case:
// with several daemons and an initiator on one machine, all of which spin, the kernel sees busy
// processors and has no reason to change anything, while an initiator and the daemon whose turn it
// is hand the same processor to and fro, and another daemon spins alone.
#pragma once

#include <chrono>

namespace rpmem::target {

// Used by one thread, which it moves.
class ProcessorChoice {
public:
    using Clock = std::chrono::steady_clock;

    // With each message: the processors, counted from 1, that this thread and its initiator share
    // with others; 0: none. If they are the same for some time, moves to another one that the
    // thread may run on, unless it has moved lately or that was of no use.
    void look(unsigned own, unsigned of_initiator) {
        if (own == 0 || own != of_initiator)
            times_shared_ = 0;
        else if (++times_shared_ >= enough_times)
            leave(own, Clock::now());
    }
    // The thread did not get its processor back for long. If that happens often after a move, there
    // is somebody busy here, and the place before was the better one.
    void was_kept_away() { was_kept_away(Clock::now()); }

    // Parts of the above, with a clock of the caller's.
    void leave(unsigned number, Clock::time_point now);
    void was_kept_away(Clock::time_point now);

    // In a row. Several initiators with processors of their own are seldom of one mind for so long.
    static constexpr unsigned enough_times = 16;

private:
    unsigned times_shared_ = 0;    // in a row
    unsigned times_kept_away_ = 0; // since the last move
    int left_ = -1;                // by the last move
    Clock::time_point moved_at_{};
    Clock::time_point stays_until_{};
};

} // namespace rpmem::target
