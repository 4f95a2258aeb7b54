// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/monitor.hpp"

#include "common/base/quiet_thread.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>

namespace rpmem::initiator {
namespace {

using EventKind = fabric::ConnectionEvent::Kind;

// The end of the session, which has the reason, usually follows the end of a lane within this time.
constexpr std::chrono::milliseconds last_error_time(1000);

bool add(const UniqueFd& epoll, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// Readable when LOST is raised, or when OUTPUT or ERROR is readable or at its end. OUTPUT may have
// the report of a failed medium. If it has a response, sleeping lanes wake for nothing until the
// call that sent the request has read it.
Result<UniqueFd> make_wake(int lost, int output, int error) {
    UniqueFd wake(::epoll_create1(EPOLL_CLOEXEC));
    if (!wake || !add(wake, lost, EPOLLIN) || !add(wake, output, EPOLLIN | EPOLLRDHUP) ||
        (error >= 0 && !add(wake, error, EPOLLIN)))
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot create the descriptor that wakes lanes when the session is lost "
                          "(epoll)");
    return wake;
}

} // namespace

Result<std::unique_ptr<Monitor>> Monitor::make(Session& session) {
    RPMEM_ASSIGN(auto lost, Event::make());
    RPMEM_ASSIGN(auto stop, Event::make());
    RPMEM_ASSIGN(auto wake, make_wake(lost.fd(), session.output_fd(), session.error_fd()));
    return std::unique_ptr<Monitor>(
        new Monitor(session, std::move(lost), std::move(stop), std::move(wake)));
}

Monitor::~Monitor() { stop(); }

void Monitor::start(const fabric::EventQueue& events) {
    thread_ = start_without_signals([this, &events] { watch(events); });
}

void Monitor::stop() {
    stop_event_.raise();
    if (thread_.joinable())
        thread_.join();
}

// Several threads may call this at once. The state only moves forward in the order of the enum.
void Monitor::set_state(State next) {
    State now = state_.load();
    while (now < next && !state_.compare_exchange_weak(now, next)) {
    }
}

void Monitor::declare_lost(Error reason) {
    reason.code = reason.kind == ErrorClass::medium_failed ? EIO : ECONNRESET;
    {
        const std::lock_guard lock(mutex_);
        if (!reason_)
            reason_ = std::move(reason);
        set_state(State::lost);
    }
    reason_known_.notify_all();
    lost_event_.raise();
}

std::optional<Error> Monitor::reason(std::chrono::milliseconds timeout) {
    if (!thread_.joinable()) {
        await_reason(timeout);
        timeout = std::chrono::milliseconds(0);
    }
    std::unique_lock lock(mutex_);
    reason_known_.wait_for(lock, timeout, [this] { return reason_.has_value(); });
    return reason_;
}

bool Monitor::find_lost() {
    if (!lost())
        if (auto loss = session_.poll_for_loss(Session::WhileInUse::skip))
            declare_lost(std::move(*loss));
    return lost();
}

// An exception has poisoned the session, so it is lost.
transport::WaitInterrupt Monitor::interrupt() {
    return {wake_.get(), [this]() noexcept {
                try {
                    return is_lost_after_wake();
                } catch (...) {
                    return true;
                }
            }};
}

// Like find_lost(), for a thread that wake_ has woken. If there is no loss, it pauses for a moment,
// because another thread may be reading what has woken both.
bool Monitor::is_lost_after_wake() {
    // Time for another thread to read what has woken all of them.
    constexpr std::chrono::milliseconds pause(1);
    if (find_lost())
        return true;
    std::this_thread::sleep_for(pause);
    return false;
}

// Waits repeatedly, because error text may wake the thread before the end of the session arrives.
void Monitor::await_reason(std::chrono::milliseconds timeout) {
    const Deadline deadline(timeout);
    while (!find_lost() && !deadline.passed()) {
        const auto woken = wait_readable(wake_.get(), deadline);
        if (woken && *woken && is_lost_after_wake())
            return;
    }
}

void Monitor::watch(const fabric::EventQueue& events) {
    while (true) {
        if (!events.prepare_sleep()) {
            if (read_lane_event(events))
                return;
            continue;
        }
        pollfd fds[4] = {{stop_event_.fd(), POLLIN, 0},
                         {session_.output_fd(), POLLIN, 0},
                         {events.fd(), POLLIN, 0},
                         {session_.error_fd(), POLLIN, 0}};
        if (::poll(fds, 4, -1) < 0)
            continue; // EINTR
        if (fds[0].revents != 0)
            return;
        if (fds[3].revents != 0 || fds[1].revents != 0) {
            if (auto loss = session_.poll_for_loss(Session::WhileInUse::wait))
                return declare_lost(std::move(*loss));
        }
        if (fds[2].revents != 0 && read_lane_event(events))
            return;
    }
}

// Returns true if the session is lost.
bool Monitor::read_lane_event(const fabric::EventQueue& events) {
    const auto event = events.read();
    if (event && !*event)
        return false;
    std::string what = event ? "the target closed a lane" : event.error().text;
    if (event && (*event)->kind == EventKind::failed)
        what = "a lane failed: " + (*event)->text;
    else if (event && (*event)->kind != EventKind::shut_down)
        return false;
    pollfd fds[2] = {{session_.output_fd(), POLLIN, 0}, {stop_event_.fd(), POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(last_error_time.count()));
    auto loss =
        fds[0].revents != 0 ? session_.poll_for_loss(Session::WhileInUse::wait) : std::nullopt;
    declare_lost(loss ? std::move(*loss) : session_.ending(what));
    return true;
}

} // namespace rpmem::initiator
