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

    // For the wait that begins. Unless it is `none`, was_quick(), was_late() or was_in_vain() is
    // called then; and was_missed() after the last, where that is so.
    Length next() {
        if (in_vain_ < patience) [[likely]]
            return eager_ == 0 ? Length::usual : Length::longer;
        if (++slept_ < retry_after_)
            return Length::none;
        slept_ = 0;
        if (retry_after_ < retry_at_least)
            retry_after_ *= 2;
        return Length::longer;
    }
    // It came within the usual time.
    void was_quick() {
        if (in_vain_ == 0 && eager_ == 0) [[likely]]
            return;
        in_vain_ = 0;
        late_ = 0;
        if (!is_for_answers_)
            retry_after_ = first_retry;
        else if (eager_ != 0)
            count();
    }
    // It came within the longer time.
    void was_late() {
        in_vain_ = 0;
        if (!is_for_answers_)
            return;
        if (eager_ == 0)
            be_eager();
        ++late_;
        count();
    }
    void was_in_vain() {
        ++in_vain_;
        eager_ = 0;
    }
    // It came soon after spinning had been given up. If the other end had to be woken, it will
    // have gone to sleep again before this one has been, unless this one stays awake next time.
    void was_missed() {
        if (is_for_answers_ && retry_after_ <= retry_at_least)
            be_eager();
    }

private:
    // So often in a row may spinning be in vain before it is given up.
    static constexpr unsigned patience = 4;
    // Then it is tried again after so many waits, for longer: where both ends sleep, an answer
    // comes after the other end has been woken, and both would go on sleeping. Each time it takes
    // twice as many, until it is tried every so many waits.
    static constexpr unsigned first_retry = 4;
    static constexpr unsigned retry_at_least = 32;
    // If that was worth it, the waits for answers stay as long until the other end has tried as
    // well: it finds this one awake.
    static constexpr unsigned eager_waits = retry_at_least + patience;
    // If the last ones still take that long, the other end is not asleep but slow, and it is
    // tried less and less often.
    static constexpr unsigned retry_seldom = 4096;

    void be_eager() {
        eager_ = eager_waits;
        late_ = 0;
    }
    void count() {
        if (--eager_ != 0)
            return;
        const bool slow = late_ >= patience;
        retry_after_ =
            slow ? std::clamp(2 * retry_after_, 2 * retry_at_least, retry_seldom) : first_retry;
        in_vain_ = slow ? patience : 0;
    }

    bool is_for_answers_;
    unsigned in_vain_ = 0; // times in a row
    unsigned slept_ = 0;   // times since the last try
    unsigned retry_after_ = first_retry;
    unsigned eager_ = 0; // waits to come that spin for longer
    unsigned late_ = 0;  // of those that were, in a row
};

} // namespace rpmem::fabric
