// SPDX-License-Identifier: BSD-3-Clause
// The part of Link for rpmemctl pause, resume and rate, see librpmem/control/control_server.hpp.
#include "librpmem/connection/link.hpp"
#include "librpmem/control/control_server.hpp"

#include <cerrno>
#include <utility>

namespace rpmem::initiator {

bool Link::is_named(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return text_in(counters_.facts().name) == name;
}

void Link::show_control(const Result<std::string>& socket) {
    const std::lock_guard lock(mutex_);
    if (socket)
        put_text(counters_.facts().control, *socket);
    else
        put_text(counters_.facts().no_control, socket.error().text);
}

void Link::refuse_steering() {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
}

Result<> Link::steer(const ControlRequest& request) {
    const std::lock_guard lock(mutex_);
    if (is_closing_)
        return fail(ErrorClass::caller_fault, EOPNOTSUPP, "the program is closing pool {}", name());
    if (!alone_)
        return fail(ErrorClass::caller_fault, EOPNOTSUPP,
                    "pool {} does not go on alone: it needs RPMEM_ON_LOSS=alone, and its first "
                    "write must have returned; the log of the program has the reason, see "
                    "librpmem(7)",
                    name());
    if (state_ == State::failed)
        return fail(ErrorClass::link_lost, failure_->code,
                    "pool {} has failed, and is not tried again: {}; restart the program", name(),
                    failure_->text);
    switch (request.verb) {
    case ControlVerb::pause:
        return pause();
    case ControlVerb::resume:
        return resume();
    case ControlVerb::rate:
        alone_->limit_rate(request.rate);
        break;
    }
    return {};
}

// The session ends as after a loss, so the target does not record that the pool was closed. From
// declare_lost() on, calls leave their lanes and mark their ranges. cut_paused() ends the session
// later. If a call was reconnecting, that call ends it. The thread that catches up ends a session
// that it has reached.
Result<> Link::pause() {
    RPMEM_TRY(alone_->pause());
    if (state_ == State::paused)
        return {};
    const Error why{ECANCELED, ErrorClass::link_lost, "paused by an operator (rpmemctl pause)"};
    must_cut_ = must_cut_ || state_ == State::connected;
    if (state_ == State::connected)
        current_->monitor().declare_lost(why);
    if (reached_)
        reached_->monitor().declare_lost(why);
    last_contact_ = Clock::now();
    set_state(State::paused);
    put_text(counters_.facts().last_loss, why.text);
    last_problem_ = why;
    failure_ = why;
    changed_.notify_all();
    return {};
}

Result<> Link::resume() {
    RPMEM_TRY(alone_->resume());
    if (state_ == State::paused)
        set_state(State::away);
    return {};
}

void Link::cut_paused() {
    std::unique_lock lock(mutex_);
    if (!std::exchange(must_cut_, false))
        return;
    const auto left = current_;
    lock.unlock(); // ending a session takes time
    left->cut();
}

void beat_and_serve(std::span<Link* const> links, std::unique_lock<std::mutex>& lock,
                    ControlServer& control) noexcept {
    beat_all(links, lock);
    if (links.empty())
        return control.stop();
    control.serve([links](const ControlRequest& request) -> Result<> {
        Result<> done = fail(ErrorClass::caller_fault, ENOENT,
                             "the program has no pool {}; see `rpmemctl status`", request.pool);
        for (Link* const link : links) {
            if (!link->is_named(request.pool))
                continue;
            done = link->steer(request);
            // The program may also have a session that only reads the pool.
            if (done || done.error().code != EOPNOTSUPP)
                break;
        }
        return done;
    });
}

} // namespace rpmem::initiator
