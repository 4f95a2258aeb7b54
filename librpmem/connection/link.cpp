// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/link.hpp"

#include "common/base/probes.hpp"
#include "librpmem/connection/back_off.hpp"
#include "librpmem/connection/link_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <system_error>

namespace rpmem::initiator {
namespace {

using std::chrono::milliseconds;

// One attempt gets a third of the total time, so that an unresponsive target cannot use all of it.
// But a login takes a while, so it gets at least min_try_time. A target that was slow before will
// be slow again, so it also gets at least twice the time that the lost connection took.
constexpr int min_tries = 3;
constexpr milliseconds min_try_time(3000);
constexpr int times_slower = 2;

// A waiting call is logged after first_log_time, then every log_interval.
constexpr std::chrono::seconds first_log_time(2);
constexpr std::chrono::seconds log_interval(10);

// Stands for no limit (RPMEM_ON_LOSS=wait): about ten years. The present time plus this limit does
// not overflow.
constexpr milliseconds no_limit = std::chrono::hours(24 * 365 * 10);

constexpr const char* no_memory = "no memory left"; // short enough for a string without allocation

milliseconds max_time(const Settings& settings) {
    return settings.on_loss == OnLoss::wait ? no_limit : settings.reconnect_timeout;
}

// Whether another attempt may succeed. Permanent:
//   a failed medium, an internal error, a violation of the protocol (EBADMSG)
//   ESTALE         another session has had the pool since, or the target offers fewer lanes
//   EACCES, EPERM  the target denies access
// Temporary, among others:
//   ENOENT, ENOMEDIUM  a target that has just started lacks a mount or a provider
//   EMFILE, EAGAIN     this process has no descriptor or no thread left
bool may_try_again(const Error& error) {
    if (error.kind == ErrorClass::medium_failed || error.kind == ErrorClass::bug ||
        error.code == EBADMSG)
        return false;
    const bool is_about_rights =
        error.code == ESTALE || error.code == EACCES || error.code == EPERM;
    return error.kind != ErrorClass::target_refused || !is_about_rights;
}

} // namespace

Link::Link(const PoolArguments& arguments, const Settings& settings, PoolServices services,
           PoolCounters& counters, std::shared_ptr<Connection> first,
           std::optional<transport::Secret> takeover)
    : arguments_(arguments), settings_(settings), services_(std::move(services)),
      counters_(counters), takeover_(std::move(takeover)), max_time_(max_time(settings)),
      lanes_(first->lanes().lanes()), claim_(first->pool_claim()), seen_by_child_(first.get()),
      current_(std::move(first)) {
    begin_counting();
}

// Returns nanoseconds since 1970.
std::uint64_t Link::now() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

void Link::begin_counting() {
    PoolFacts& facts = counters_.facts();
    put_text(facts.name, name());
    put_text(facts.lanes_by, current_->facts().description);
    facts.size = arguments_.size;
    facts.opened = facts.state_since = sync_since_ = now();
    facts.nanoseconds_of_tick = current_->nanoseconds_of_tick();
}

void Link::set_state(State next) {
    state_ = next;
    counters_.facts().state = next;
    counters_.facts().state_since = now();
    note_sync_state();
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
    if (!current_->can_resume() || !services_.heartbeats)
        return {};
    RPMEM_TRY(services_.heartbeats->add(*this));
    heartbeats_ = services_.heartbeats;
    return {};
}

Link::~Link() {
    if (heartbeats_)
        heartbeats_->remove(*this);
}

std::string Link::name() const {
    return fmt::format("{}:{}", arguments_.target, arguments_.pool_set);
}

bool Link::waits_without_limit() const { return max_time_.load() == no_limit; }

std::string Link::limit() const {
    const milliseconds max = max_time_;
    if (waits_without_limit())
        return "unlimited time, RPMEM_ON_LOSS=wait";
    return fmt::format("{} ms, {}", max.count(),
                       max < max_time(settings_) ? "the limit of rpmem_close()"
                                                 : "RPMEM_RECONNECT_TIMEOUT");
}

CallTimes Link::times() {
    const std::lock_guard lock(mutex_);
    return times_locked();
}

CallTimes Link::times_locked() const {
    const milliseconds all = max_time_;
    const milliseconds share = std::min(all, settings_.reconnect_timeout) / min_tries;
    return {.reconnecting = all,
            .one_try = std::max({share, min_try_time, times_slower * current_->took()}),
            .first_pause = settings_.reconnect_delay};
}

// Every retry after a loss comes through here. Callers retry in loops that call this function. So
// this loop and theirs end when BOUND is used up.
Result<std::shared_ptr<Connection>> Link::connection(CallBound& bound) {
    std::unique_lock lock(mutex_);
    while (true) {
        if (state_ == State::failed)
            return Failure(*failure_);
        if (is_away())
            return fail(ErrorClass::link_lost, ENOTCONN,
                        "the target is away, and the program goes on without it "
                        "(RPMEM_ON_LOSS=alone): {}",
                        failure_->text);
        if (state_ == State::connected && !current_->monitor().lost())
            return current_;
        if (state_ == State::reconnecting) {
            await_others(lock, bound);
            continue;
        }
        // There is a reason, because the session was declared lost.
        const Error loss = current_->monitor().reason(milliseconds(0)).value();
        bound.begin(times_locked(), loss.text);
        if (!may_replace(*current_, loss))
            give_up(loss);
        else if (!bound.may_try())
            give_up({ECONNRESET, ErrorClass::link_lost, describe_tries(bound, loss)});
        else
            reconnect(lock, loss, bound);
    }
}

void Link::set_failed(Error error) {
    set_state(State::failed);
    put_text(counters_.facts().last_loss, error.text);
    failure_ = std::move(error);
    changed_.notify_all();
}

// Waits for the call that reconnects, without LOCK. The attempts of that call may take longer than
// this call may wait.
void Link::await_others(std::unique_lock<std::mutex>& lock, CallBound& bound) {
    bound.begin(times_locked(), last_problem_.text);
    const auto is_over = [this] { return state_ != State::reconnecting; };
    if (changed_.wait_until(lock, bound.deadline(), is_over) || bound.may_wait())
        return;
    give_up({ECONNRESET, ErrorClass::link_lost,
             fmt::format("{}; another call still tries to reconnect after {}: {}",
                         bound.first_cause(), limit(), last_problem_.text)});
}

// Replaces the connection. Does not hold LOCK during the attempts.
void Link::reconnect(std::unique_lock<std::mutex>& lock, const Error& loss, CallBound& bound) {
    const auto began = Clock::now();
    if (waiting_since_ != bound.began()) {
        waiting_since_ = logged_ = bound.began();
        logged_problems_.clear();
    }
    last_problem_ = loss;
    set_state(State::reconnecting);
    put_text(counters_.facts().last_loss, loss.text);
    const std::shared_ptr<Connection> lost = current_;
    lock.unlock();
    auto next = try_or_give_up(*lost, loss, bound);
    lock.lock();
    if (state_ != State::reconnecting || current_ != lost)
        return; // a call that waited has given up
    // Only await_in_sync() has timed out. The next call tries again.
    if (!next && bound.has_ended_exactly()) {
        set_state(State::connected);
        return changed_.notify_all();
    }
    if (!next)
        return give_up(std::move(next).error());
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
    seen_by_child_ = next->get();
    current_ = std::move(*next);
    set_state(State::connected);
    ++counters_.facts().reconnects;
    counters_.facts().generation = generation_;
    changed_.notify_all();
    services_.log.warning("{}: reconnected after {} ms (generation {}): {}", name(), took.count(),
                          generation_.load(), loss.text);
}

// Must not throw, because other calls wait for the result.
Result<std::shared_ptr<Connection>> Link::try_or_give_up(Connection& lost, const Error& loss,
                                                         CallBound& bound) noexcept {
    try {
        note_problem(loss);
        lost.cut();
        return try_until_up(lost, loss, bound);
    } catch (const std::bad_alloc&) {
        return Failure(Error{ENOMEM, ErrorClass::resource_limit, no_memory});
    } catch (const std::exception& exception) {
        return Failure(Error{ECONNRESET, ErrorClass::link_lost,
                             std::string("reconnecting failed: ") + exception.what()});
    }
}

bool Link::is_given_up_within(Clock::duration time, const Connection& lost) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, time, [&] { return state_ != State::reconnecting || current_.get() != &lost; });
}

// The pause grows in BOUND. So it goes on growing if a new session is lost within the same call.
Result<std::shared_ptr<Connection>> Link::try_until_up(const Connection& lost, const Error& loss,
                                                       CallBound& bound) {
    Error last = loss;
    while (bound.may_try()) {
        const milliseconds pause = bound.next_pause(max_pause);
        if (is_given_up_within(
                std::min<std::chrono::microseconds>(with_jitter(pause), bound.left()), lost))
            break;
        const milliseconds time = bound.start_try();
        auto next = try_once(time, bound.tries());
        if (next) {
            bound.count_session();
            return next;
        }
        last = std::move(next).error();
        note_problem(last);
        // Opening may take longer than before, because the daemon flushes a pool that was not
        // closed. Each new daemon starts the flush again, so attempts of one length would all end
        // too early.
        if (last.code == ETIMEDOUT && waits_without_limit())
            bound.lengthen_tries(settings_.connect_timeout + settings_.operation_timeout);
        if (!may_try_again(last)) {
            // After a violation of the protocol, every call on an open pool returns ECONNRESET.
            const int code = last.code == EBADMSG ? ECONNRESET : last.code;
            return Failure(Error{code, last.kind, describe_tries(bound, last)});
        }
    }
    return Failure(Error{ECONNRESET, ErrorClass::link_lost, describe_tries(bound, last)});
}

std::string Link::describe_tries(const CallBound& bound, const Error& last) const {
    const std::string lost_again =
        bound.sessions() == 0
            ? std::string()
            : fmt::format(", of which {} led to a session that was lost before it had acknowledged "
                          "anything",
                          bound.sessions());
    return fmt::format("{}; reconnecting failed ({} attempts in {}{}): {}; see \"Lost "
                       "sessions\" in librpmem(7)",
                       bound.first_cause(), bound.tries(), limit(), lost_again, last.text);
}

// A session that only reads does not keep writers out. It has noted the claim of the last writer,
// and compares it with the present one. If they differ, somebody has opened the pool for writing,
// and what it reads next may not match what it has read before.
Result<> Link::compare_claims(const Connection& next) const {
    if (!current_->is_read_only() || (claim_ && claim_ == next.pool_claim()))
        return {};
    const auto now = next.pool_claim();
    if (!claim_ || !now)
        return fail(ErrorClass::target_refused, ESTALE,
                    "{} does not report whether another session has opened pool {} for writing "
                    "since this session was lost; open the pool again",
                    next.host(), arguments_.pool_set);
    return fail(ErrorClass::target_refused, ESTALE,
                "another session has opened pool {} for writing since this session was lost (epoch "
                "{} generation {}, now epoch {} generation {}), or its parts are other files; what "
                "was read before may be older than what would be read now; open the pool again",
                arguments_.pool_set, claim_->epoch, claim_->generation, now->epoch,
                now->generation);
}

// Opens the same pool again. The daemon refuses it with ESTALE if another session has had it since.
// NUMBER is the number of this attempt. A lack of memory or threads is an error of this attempt.
Result<std::shared_ptr<Connection>> Link::try_once(milliseconds time, unsigned number) try {
    const std::uint64_t generation = ++generation_;
    RPMEM_PROBE(librpmem, reconnect, generation, number);
    RPMEM_ASSIGN(auto next, Connection::log_in(arguments_, settings_, generation, &*takeover_,
                                               Deadline(time)));
    note_login();
    RPMEM_ASSIGN(const auto response, next->open());
    RPMEM_TRY(note_open(*next));
    RPMEM_TRY(compare_claims(*next));
    RPMEM_TRY(next->connect(response.in_band));
    if (next->lanes().lanes() < lanes_)
        return fail(ErrorClass::target_refused, ESTALE,
                    "{} offers only {} lanes now, but the pool was opened with {}", next->host(),
                    next->lanes().lanes(), lanes_);
    return next;
} catch (const std::bad_alloc&) {
    return Failure(Error{ENOMEM, ErrorClass::resource_limit, no_memory});
} catch (const std::system_error& error) {
    return fail_errno(ErrorClass::resource_limit, error.code().value(),
                      "cannot start a thread; does a limit (ulimit -u) bound the threads?");
}

// Without memory one heartbeat is skipped.
void Link::beat() noexcept try {
    std::unique_lock lock(mutex_);
    note_sync_state();
    if (state_ == State::reconnecting)
        log_waiting();
    const std::shared_ptr<Connection> connection = is_away() ? reached_ : current_;
    if (state_ == State::reconnecting || state_ == State::failed || !connection ||
        connection->monitor().lost())
        return;
    lock.unlock();
    if (auto loss = connection->session().beat())
        connection->monitor().declare_lost(std::move(*loss));
    else
        note_contact();
    for (const std::string& notice : connection->session().take_notices())
        services_.log.error("{}: {}", name(), notice);
} catch (const std::exception&) {
}

void beat_all(std::span<Link* const> links, std::unique_lock<std::mutex>&) noexcept {
    for (Link* const link : links)
        link->beat();
}

// Records WHY for the log, and logs it if a line is due. Without memory, the log lacks it.
void Link::note_problem(const Error& why) noexcept try {
    const std::lock_guard lock(mutex_);
    last_problem_ = why;
    log_waiting();
} catch (const std::exception&) {
}

void Link::log_waiting() {
    const auto now = Clock::now();
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - waiting_since_);
    if (waited < first_log_time)
        return;
    const std::pair kind(last_problem_.kind, last_problem_.code);
    const bool is_new = std::ranges::find(logged_problems_, kind) == logged_problems_.end();
    if (!is_new && now - logged_ < log_interval)
        return;
    if (is_new)
        logged_problems_.push_back(kind);
    logged_ = now;
    const milliseconds all = max_time_;
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(all - waited);
    services_.log.error(
        "reconnecting to {} for {} s: {}; {}", name(), waited.count(), last_problem_.text,
        waits_without_limit() ? "calls wait until it is back (RPMEM_ON_LOSS=wait)"
                              : fmt::format("{} s left", std::max<long>(left.count(), 0)));
}

} // namespace rpmem::initiator
