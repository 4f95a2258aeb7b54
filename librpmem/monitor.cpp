#include "monitor.hpp"

#include "base/quiet_thread.hpp"

#include <poll.h>

namespace rpmem {
namespace {

using EventKind = fabric::ConnectionEvent::Kind;

// When a lane ends, the session's end, which can say why, is usually close behind.
constexpr std::chrono::milliseconds last_error_time(1000);

} // namespace

Result<std::unique_ptr<Monitor>> Monitor::make() {
    auto lost = Event::make();
    if (!lost)
        return propagate(std::move(lost));
    auto stop = Event::make();
    if (!stop)
        return propagate(std::move(stop));
    return std::unique_ptr<Monitor>(new Monitor(std::move(*lost), std::move(*stop)));
}

Monitor::~Monitor() { stop(); }

void Monitor::start(Session& session, const fabric::EventQueue& events) {
    thread_ = start_without_signals([this, &session, &events] { watch(session, events); });
}

void Monitor::stop() {
    stop_event_.raise();
    if (thread_.joinable())
        thread_.join();
}

void Monitor::declare_lost(std::string reason) {
    {
        const std::lock_guard lock(mutex_);
        if (reason_.empty())
            reason_ = std::move(reason);
        lost_.store(true, std::memory_order_release);
    }
    told_.notify_all();
    lost_event_.raise();
}

std::string Monitor::reason(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    told_.wait_for(lock, patience, [this] { return !reason_.empty(); });
    return reason_;
}

void Monitor::watch(Session& session, const fabric::EventQueue& events) {
    while (true) {
        if (!events.prepare_sleep()) {
            if (look_at_lanes(session, events))
                return;
            continue;
        }
        pollfd fds[4] = {{stop_event_.fd(), POLLIN, 0},
                         {session.output_fd(), POLLIN, 0},
                         {events.fd(), POLLIN, 0},
                         {session.error_fd(), POLLIN, 0}};
        if (::poll(fds, 4, -1) < 0)
            continue; // EINTR
        if (fds[0].revents != 0)
            return;
        if (fds[3].revents != 0)
            session.collect_error_text();
        if (fds[1].revents != 0) {
            if (std::string loss = session.loss(); !loss.empty())
                return declare_lost(std::move(loss));
        }
        if (fds[2].revents != 0 && look_at_lanes(session, events))
            return;
    }
}

// True: the session is lost.
bool Monitor::look_at_lanes(Session& session, const fabric::EventQueue& events) {
    const auto event = events.read();
    if (event && !*event)
        return false;
    std::string what = event ? "the target closed a lane" : event.error().text;
    if (event && (*event)->kind == EventKind::failed)
        what = "a lane failed: " + (*event)->text;
    else if (event && (*event)->kind != EventKind::shut_down)
        return false;
    pollfd fds[2] = {{session.output_fd(), POLLIN, 0}, {stop_event_.fd(), POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(last_error_time.count()));
    std::string loss = fds[0].revents != 0 ? session.loss() : std::string();
    declare_lost(loss.empty() ? session.ending(what) : std::move(loss));
    return true;
}

} // namespace rpmem
