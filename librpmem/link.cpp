// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/link.hpp"

#include "common/base/probes.hpp"
#include "common/transport/crypto.hpp"
#include "librpmem/link_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <thread>

namespace rpmem::initiator {
namespace {

using std::chrono::milliseconds;

// The longest pause between two tries.
constexpr milliseconds longest_pause(5000);

// A target that is mute keeps none of them for longer than the part of the time that lets so many
// begin. But a login takes a while, and one that was slow before will be slow again.
constexpr int least_tries = 3;
constexpr milliseconds least_try(3000);
constexpr int times_slower = 2; // than the session before

// A call that waits is told of in the log after the first of these, and again after each of the
// second.
constexpr std::chrono::seconds first_word(2);
constexpr std::chrono::seconds next_word(10);

constexpr const char* no_memory = "no memory left"; // so short that a string needs none

constexpr const char* may_lack =
    "the replica may lack what was not confirmed; see \"Lost sessions\" in librpmem(7)";

// Half of PAUSE to all of it: initiators that were cut off together do not come back together.
milliseconds with_jitter(milliseconds pause) {
    std::uint32_t bits = 0;
    static_cast<void>(transport::SystemRandom().fill(std::as_writable_bytes(std::span(&bits, 1))));
    const milliseconds half = pause / 2;
    return half + milliseconds(static_cast<std::uint64_t>(half.count()) * bits >> 32);
}

// Whether another try may find it otherwise: the network, an own session that has not ended yet,
// and a provider. There was one: while the target is away, no device resolves its address.
bool may_try_again(const Error& error) {
    return error.kind == ErrorClass::link_lost || error.code == ENOMEDIUM ||
           (error.kind == ErrorClass::target_refused && error.code == EBUSY);
}

} // namespace

Link::Link(const PoolArguments& arguments, const Settings& settings, PoolServices services,
           PoolCounters& counters, std::shared_ptr<Association> first,
           std::optional<transport::Secret> takeover)
    : arguments_(arguments), settings_(settings), services_(std::move(services)),
      counters_(counters), takeover_(std::move(takeover)), most_time_(settings.reconnect_timeout),
      lanes_(first->lanes().lanes()), seen_by_child_(first.get()), current_(std::move(first)) {
    begin_counting();
}

void Link::begin_counting() {
    PoolFacts& facts = counters_.facts();
    put_text(facts.name, name());
    put_text(facts.lanes_by, current_->facts().description);
    facts.size = arguments_.size;
    facts.opened = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
    facts.nanoseconds_of_tick = current_->nanoseconds_of_tick();
}

void Link::become(State next) {
    state_ = next;
    counters_.facts().state = next;
}

void Link::count_replayed(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    counters_.facts().replayed_bytes += bytes;
}

Result<PoolSnapshot> Link::statistics() const {
    if (counters_.fd() < 0)
        return fail(ErrorClass::resource_limit, ENOTSUP,
                    "rpmem_stats: there was no descriptor for statistics when the pool was opened "
                    "(memfd_create(2) failed); does a limit (ulimit -n) bound them?");
    return read_counters(counters_.fd());
}

Result<> Link::start() {
    LinkThread* const heartbeats = current_->can_resume() ? services_.heartbeats : nullptr;
    for (LinkThread* const thread : {heartbeats, services_.statistics}) {
        if (!thread)
            continue;
        threads_.reserve(threads_.size() + 1);
        RPMEM_TRY(thread->add(*this));
        threads_.push_back(thread);
    }
    return {};
}

Link::~Link() {
    for (LinkThread* const thread : threads_)
        thread->remove(*this);
}

std::string Link::name() const {
    return fmt::format("{}:{}", arguments_.target, arguments_.pool_set);
}

std::string Link::limit() const {
    const milliseconds most = most_time_;
    return fmt::format("{} ms, {}", most.count(),
                       most < settings_.reconnect_timeout ? "the limit of rpmem_close()"
                                                          : "RPMEM_RECONNECT_TIMEOUT");
}

Result<std::shared_ptr<Association>> Link::association() {
    std::unique_lock lock(mutex_);
    while (true) {
        if (state_ == State::failed)
            return Failure(*failure_);
        if (state_ == State::connected && !current_->monitor().lost())
            return current_;
        if (state_ == State::reconnecting) {
            changed_.wait(lock);
            continue;
        }
        // The monitor knows why: it has declared the session lost.
        const Error loss = current_->monitor().reason(milliseconds(0)).value();
        if (may_reconnect(loss))
            reconnect(lock, loss);
        else
            end_by(loss);
    }
}

bool Link::may_reconnect(const Error& loss) const {
    return loss.kind == ErrorClass::link_lost && current_->can_reconnect();
}

void Link::end_by(Error error) {
    become(State::failed);
    put_text(counters_.facts().last_loss, error.text);
    failure_ = std::move(error);
    changed_.notify_all();
}

// Releases LOCK meanwhile.
void Link::reconnect(std::unique_lock<std::mutex>& lock, const Error& loss) {
    last_problem_ = loss.text;
    waiting_since_ = told_ = Clock::now();
    become(State::reconnecting);
    put_text(counters_.facts().last_loss, loss.text);
    const std::shared_ptr<Association> lost = current_;
    lock.unlock();
    auto next = try_or_give_up(*lost, loss);
    lock.lock();
    if (!next)
        return end_by(std::move(next).error());
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - waiting_since_);
    seen_by_child_ = next->get();
    current_ = std::move(*next);
    become(State::connected);
    ++counters_.facts().reconnects;
    counters_.facts().generation = generation_;
    changed_.notify_all();
    services_.log.warning("{}: reconnected after {} ms (generation {}): {}", name(), took.count(),
                          generation_, loss.text);
}

// Throws nothing: others wait for what it comes to.
Result<std::shared_ptr<Association>> Link::try_or_give_up(Association& lost,
                                                          const Error& loss) noexcept {
    try {
        lost.cut();
        return try_for(most_time_, loss);
    } catch (const std::bad_alloc&) {
        return Failure(Error{ENOMEM, ErrorClass::resource_limit, no_memory});
    } catch (const std::exception& exception) {
        return Failure(Error{ECONNRESET, ErrorClass::link_lost,
                             std::string("to reconnect failed: ") + exception.what()});
    }
}

Result<std::shared_ptr<Association>> Link::try_for(milliseconds time, const Error& loss) {
    const Deadline deadline(time);
    const milliseconds longest_try =
        std::max({time / least_tries, least_try, times_slower * current_->took()});
    milliseconds pause = settings_.reconnect_delay;
    for (unsigned tries = 1;; ++tries) {
        auto next = try_once(std::min(longest_try, milliseconds(deadline.poll_timeout())), tries);
        if (next)
            return next;
        const Error& why = next.error();
        {
            const std::lock_guard lock(mutex_);
            last_problem_ = why.text;
        }
        const bool goes_on = may_try_again(why);
        if (goes_on && !deadline.passed()) {
            const milliseconds rest(deadline.poll_timeout());
            std::this_thread::sleep_for(std::min(with_jitter(pause), rest));
            pause = std::min(pause * 2, longest_pause);
            if (!deadline.passed())
                continue;
        }
        return fail(goes_on ? ErrorClass::link_lost : why.kind, goes_on ? ECONNRESET : why.code,
                    "{}; to reconnect failed ({} tries in {}): {}; {}", loss.text, tries, limit(),
                    why.text, may_lack);
    }
}

// The same pool, opened again: the daemon refuses any other (ESTALE). NUMBER: of this try.
Result<std::shared_ptr<Association>> Link::try_once(milliseconds time, unsigned number) {
    // A session that only reads takes no pool over.
    const bool takes_over = !current_->is_read_only();
    generation_ += takes_over ? 1 : 0;
    RPMEM_PROBE(librpmem, reconnect, generation_, number);
    RPMEM_ASSIGN(auto next, Association::log_in(arguments_, settings_,
                                                {.generation = generation_,
                                                 .takeover = takes_over ? &*takeover_ : nullptr,
                                                 .deadline = Deadline(time)}));
    RPMEM_ASSIGN(const auto response, next->open());
    RPMEM_TRY(next->connect(response.in_band));
    if (next->lanes().lanes() < lanes_)
        return fail(ErrorClass::target_refused, ESTALE,
                    "{} has only {} lanes for this pool now, which has {}", next->host(),
                    next->lanes().lanes(), lanes_);
    return next;
}

// Without memory for it there is no heartbeat this time.
void Link::beat() noexcept try {
    std::unique_lock lock(mutex_);
    if (state_ == State::reconnecting)
        tell_waiting();
    if (state_ != State::connected || current_->monitor().lost())
        return;
    const std::shared_ptr<Association> association = current_;
    lock.unlock();
    if (auto loss = association->session().beat())
        association->monitor().declare_lost(std::move(*loss));
    for (const std::string& notice : association->session().take_notices())
        services_.log.error("{}: {}", name(), notice);
} catch (const std::exception&) {
}

void beat_all(std::span<Link* const> links, std::unique_lock<std::mutex>&) noexcept {
    for (Link* const link : links)
        link->beat();
}

void Link::tell_waiting() {
    const auto now = Clock::now();
    const bool is_first = told_ == waiting_since_;
    if (now - told_ < (is_first ? first_word : next_word))
        return;
    told_ = now;
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - waiting_since_);
    const auto most = std::chrono::duration_cast<std::chrono::seconds>(most_time_.load());
    services_.log.error("reconnecting to {} for {} s: {}; {} s left", name(), waited.count(),
                        last_problem_, std::max<long>((most - waited).count(), 0));
}

} // namespace rpmem::initiator
