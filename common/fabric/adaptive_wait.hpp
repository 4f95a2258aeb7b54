// Waits for completions: spins where that has paid of late, sleeps where it has not.
#pragma once

#include "fabric/queues.hpp"
#include "fabric/spin_choice.hpp"

#include <utility>

namespace rpmem::fabric {

struct WaitPolicy {
    std::chrono::microseconds spin; // at most, before sleeping
    std::chrono::milliseconds timeout;
    bool is_for_answers = false; // see SpinChoice
};

// One for each thread or lane that waits.
class AdaptiveWait {
public:
    explicit AdaptiveWait(const WaitPolicy& policy)
        : policy_(policy), choice_(policy.is_for_answers) {}

    // As CompletionQueue::read(), but waits until there is something. 0: WAKE was raised.
    // -ETIMEDOUT: nothing came in time.
    int wait(const CompletionQueue& queue, std::span<Completion> entries, int wake) {
        return wait(queue, entries, wake, policy_.timeout);
    }
    // The same, for no longer than LIMIT. 0: has a look.
    int wait(const CompletionQueue& queue, std::span<Completion> entries, int wake,
             std::chrono::milliseconds limit);

    // The processor that this thread had to share when it last yielded, counted from 1; 0: it had
    // one for itself.
    [[nodiscard]] unsigned shared_processor() const { return shared_processor_; }
    // Whoever it was shared with has kept it for long since this was last asked.
    [[nodiscard]] bool was_kept_away() { return std::exchange(kept_away_, false); }

private:
    int wait_for_more(const CompletionQueue& queue, std::span<Completion> entries, int wake,
                      std::chrono::milliseconds limit);
    int spin(const CompletionQueue& queue, std::span<Completion> entries, int wake,
             std::chrono::microseconds time);
    Deadline::Clock::time_point yield(Deadline::Clock::time_point now);
    int spin_blindly(const CompletionQueue& queue, std::span<Completion> entries,
                     std::chrono::microseconds time);

    WaitPolicy policy_;
    SpinChoice choice_;
    bool yields_at_once_ = false; // the last wait was long enough for it to cost nothing
    unsigned shared_processor_ = 0;
    bool kept_away_ = false;
};

} // namespace rpmem::fabric
