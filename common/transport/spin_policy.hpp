// Whether a wait looks again and again before it sleeps. It looks for RPMEM_SPIN_TIME, as a peer
// answers in less time than it takes to fall asleep and be woken. After a few waits in which it did
// that in vain it sleeps at once, until a wait has been short.
#pragma once

#include <chrono>

namespace rpmem::transport {

class SpinPolicy {
public:
    explicit SpinPolicy(std::chrono::nanoseconds time) : time_(time) {}

    // How long the next wait may look; 0: it sleeps at once.
    [[nodiscard]] std::chrono::nanoseconds time() const {
        return in_vain_ < most_in_vain ? time_ : std::chrono::nanoseconds(0);
    }
    // A wait has ended; it took this long, sleeping included.
    void ended(std::chrono::nanoseconds taken, bool slept) {
        if (!slept || taken <= short_times * time_)
            in_vain_ = 0;
        else if (in_vain_ < most_in_vain)
            ++in_vain_;
    }

private:
    // Enough for a peer that is late now and then.
    static constexpr unsigned most_in_vain = 4;
    // A wait that sleeps takes as long to be woken as others look.
    static constexpr int short_times = 2;

    std::chrono::nanoseconds time_;
    unsigned in_vain_ = 0;
};

} // namespace rpmem::transport
