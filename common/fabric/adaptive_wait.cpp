#include "fabric/adaptive_wait.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::fabric {
namespace {

using Length = SpinChoice::Length;

// What SpinChoice calls longer: so many times the usual time, but no more than the limit, unless
// the usual time itself is more.
constexpr int times_longer = 8;
constexpr std::chrono::microseconds longer_at_most(1000);
// So long it may be before somebody who raises WAKE is heard.
constexpr std::chrono::microseconds longest_blindness(1000);

// The answer of a peer with a processor of its own comes within the round trip of a quick network.
// One that shares this processor cannot give it before it is let run, and every look in between is
// lost for both. Yielding that takes longer than a system call has let somebody run; otherwise it
// is time during which nothing is seen. Where waits take long enough for it to be worth while it
// is done first of all, as nothing can have come yet, and not again before a usual answer has.
// Who gets the processor back keeps it for about as long as handing it over takes: what came just
// after the first look would otherwise wait for two changes.
constexpr std::chrono::microseconds before_yielding(5);
constexpr std::chrono::microseconds before_yielding_again(5);
constexpr std::chrono::microseconds usual_answer(12);
constexpr std::chrono::microseconds after_yielding_in_vain(2);
constexpr std::chrono::microseconds somebody_ran(1);
// Those who spin as we do give it back sooner.
constexpr std::chrono::microseconds somebody_kept_it(500);

std::chrono::microseconds longer_than(std::chrono::microseconds spin) {
    return std::max(spin, std::min(times_longer * spin, longer_at_most));
}

// What the longer time might have caught: both ends have been woken since.
std::chrono::microseconds soon_after(std::chrono::microseconds spin) {
    return 2 * longer_than(spin);
}

} // namespace

int AdaptiveWait::wait(const CompletionQueue& queue, std::span<Completion> entries, int wake,
                       std::chrono::milliseconds limit) {
    if (const int got = queue.read(entries); got != 0)
        return got;
    return wait_for_more(queue, entries, wake, limit);
}

int AdaptiveWait::wait_for_more(const CompletionQueue& queue, std::span<Completion> entries,
                                int wake, std::chrono::milliseconds limit) {
    const auto timeout = std::min(limit, policy_.timeout);
    const auto usual = std::min<std::chrono::microseconds>(policy_.spin, timeout);
    const auto length = usual.count() > 0 ? choice_.next() : Length::none;
    if (length != Length::none) {
        if (const int got = spin(queue, entries, wake, usual); got != 0) {
            choice_.was_quick();
            return got;
        }
        const auto more = longer_than(usual) - usual;
        if (length == Length::longer)
            if (const int got = spin(queue, entries, wake, more); got != 0) {
                choice_.was_late();
                return got;
            }
        choice_.was_in_vain();
    }
    const Deadline deadline(timeout);
    const auto asleep_since = Deadline::Clock::now();
    for (auto start = asleep_since;; start = Deadline::Clock::now()) {
        const bool woken = !queue.sleep(deadline.poll_timeout(), wake);
        const int got = queue.read(entries);
        if (got > 0 && length != Length::none &&
            Deadline::Clock::now() - asleep_since < soon_after(usual))
            choice_.was_missed();
        if (got != 0 || woken)
            return got;
        // The peer reads or writes memory, which leaves no entry here. It may go on, and who sleeps
        // in between is woken late, and maybe where the peer runs.
        if (Deadline::Clock::now() - start < longer_than(usual))
            if (const int late = spin(queue, entries, wake, longer_than(usual)); late != 0)
                return late;
        if (deadline.passed())
            return -ETIMEDOUT;
    }
}

int AdaptiveWait::spin(const CompletionQueue& queue, std::span<Completion> entries, int wake,
                       std::chrono::microseconds time) {
    for (auto left = time;; left -= longest_blindness) {
        if (const int got = spin_blindly(queue, entries, std::min(left, longest_blindness));
            got != 0)
            return got;
        if (left <= longest_blindness || !queue.sleep(0, wake))
            return 0;
    }
}

// Lets others run, as the peer may need this very processor. Returns the time afterwards.
Deadline::Clock::time_point AdaptiveWait::yield(Deadline::Clock::time_point now) {
    sched_yield();
    const auto back = Deadline::Clock::now();
    const auto away = back - now;
    shared_processor_ = away >= somebody_ran ? static_cast<unsigned>(sched_getcpu()) + 1 : 0;
    kept_away_ = kept_away_ || away >= somebody_kept_it;
    return back;
}

int AdaptiveWait::spin_blindly(const CompletionQueue& queue, std::span<Completion> entries,
                               std::chrono::microseconds time) {
    const auto start = Deadline::Clock::now();
    auto now = start;
    auto yield_at = yields_at_once_ ? start : start + before_yielding;
    const auto not_again_before = yields_at_once_ ? start + usual_answer : start;
    while (now - start < time) {
        if (now >= yield_at) {
            now = yield(now);
            yield_at = shared_processor_ != 0
                           ? now + before_yielding_again
                           : std::max(now + after_yielding_in_vain, not_again_before);
        }
        if (const int got = queue.read(entries); got != 0) {
            yields_at_once_ = shared_processor_ != 0 || now - start >= before_yielding;
            return got;
        }
        now = Deadline::Clock::now();
    }
    yields_at_once_ = true;
    return 0;
}

} // namespace rpmem::fabric
