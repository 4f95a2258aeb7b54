// Whether a wait spins, and for how long: by how it went of late. Knows no clock: see AdaptiveWait.
#pragma once

#include <algorithm>

namespace rpmem::fabric {

class SpinChoice {
public:
    enum class Length { none, usual, longer };

    // IS_FOR_ANSWERS: of a peer that may be asleep, but does not think. Who waits for requests
    // cannot tell a peer that sleeps from one that has nothing to ask.
    explicit SpinChoice(bool is_for_answers) : is_for_answers_(is_for_answers) {}

    // For the wait that begins; then one of the others is called, unless it is `none`.
    Length next() {
        if (in_vain_ < patience) [[likely]]
            return eager_ == 0 ? Length::usual : Length::longer;
        if (++slept_ < retry_after_)
            return Length::none;
        slept_ = 0;
        return Length::longer;
    }
    // It came within the usual time.
    void was_quick() {
        in_vain_ = 0;
        if (eager_ != 0) [[unlikely]]
            count(true);
    }
    // It came within the longer time.
    void was_late() {
        in_vain_ = 0;
        if (!is_for_answers_)
            return;
        if (eager_ == 0)
            eager_ = eager_waits;
        count(false);
    }
    void was_in_vain() {
        ++in_vain_;
        eager_ = 0;
    }
    // It came soon after spinning had been given up. If the other end had to be woken, it will
    // have gone to sleep again before this one has been, unless this one stays awake next time.
    void was_missed() {
        if (is_for_answers_ && retry_after_ == retry_every)
            eager_ = eager_waits;
    }

private:
    // So often in a row may spinning be in vain before it is given up.
    static constexpr unsigned patience = 4;
    // Then every so many waits it is tried again, for longer: where both ends sleep, an answer
    // comes after the other end has been woken, and both would go on sleeping.
    static constexpr unsigned retry_every = 32;
    // If that was worth it, the waits for answers stay as long until the other end has tried as
    // well: it finds this one awake.
    static constexpr unsigned eager_waits = retry_every + patience;
    // If the last still takes that long, the other end is not asleep but slow, and it is
    // tried less and less often.
    static constexpr unsigned retry_seldom = 4096;

    void count(bool quick) {
        if (--eager_ != 0)
            return;
        retry_after_ = quick ? retry_every : std::min(2 * retry_after_, retry_seldom);
        in_vain_ = quick ? 0 : patience;
    }

    bool is_for_answers_;
    unsigned in_vain_ = 0; // times in a row
    unsigned slept_ = 0;   // times since the last try
    unsigned retry_after_ = retry_every;
    unsigned eager_ = 0; // waits to come that spin for longer
};

} // namespace rpmem::fabric
