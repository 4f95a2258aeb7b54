// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tcp/socket_group.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace rpmem::transport {
namespace {

// Maximum time until a spinning wait() notices WAKE.
constexpr std::chrono::milliseconds max_deafness(1);

constexpr std::size_t max_ready = 64;

} // namespace

Result<> SocketGroup::add(LaneConnection& connection) {
    if (!buffer_)
        buffer_.reset(new std::byte[buffer_size_]); // uninitialised: untouched pages use no memory
    connection.receive_in({buffer_.get(), buffer_size_});
    members_.push_back({&connection, false});
    ready_.reserve(members_.size());
    if (is_few() && !epoll_) // once epoll_ exists, it has all members: the group may grow again
        return {};
    Result<> watched;
    if (!epoll_)
        watched = use_epoll();
    else if (!update_epoll(EPOLL_CTL_ADD, &connection, connection.fd(), false))
        watched = fail_errno(ErrorClass::resource_limit, errno, "cannot wait for a lane (epoll)");
    if (!watched)
        remove(connection);
    return watched;
}

Result<> SocketGroup::use_epoll() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make an epoll descriptor");
    for (const Member& member : members_)
        if (!update_epoll(EPOLL_CTL_ADD, member.connection, member.connection->fd(), false)) {
            const int code = errno;
            epoll_.reset();
            return fail_errno(ErrorClass::resource_limit, code, "cannot wait for a lane (epoll)");
        }
    return {};
}

bool SocketGroup::update_epoll(int operation, LaneConnection* connection, int fd,
                               bool awaits_room) const {
    epoll_event event{};
    event.events = awaits_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = connection;
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

void SocketGroup::remove(LaneConnection& connection) {
    if (epoll_ && connection.fd() >= 0)
        static_cast<void>(update_epoll(EPOLL_CTL_DEL, &connection, connection.fd(), false));
    std::erase_if(members_, [&](const Member& each) { return each.connection == &connection; });
    std::erase(ready_, &connection);
}

void SocketGroup::mark_all_ready() {
    ready_.clear();
    for (const Member& member : members_)
        ready_.push_back(member.connection);
}

WaitResult SocketGroup::wait(std::chrono::milliseconds limit, int wake) {
    const auto now = Clock::now();
    if (!std::exchange(is_waiting_, true)) {
        slept_ = false;
        since_ = deaf_since_ = now;
        mark_all_ready();
    }
    const auto taken = now - since_;
    if (taken >= limit)
        return WaitResult::timed_out;
    const bool looks = !slept_ && taken < policy_.time(since_);
    if (looks && is_few() && now - deaf_since_ < max_deafness)
        return WaitResult::look;
    deaf_since_ = now;
    slept_ = !looks;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - taken).count();
    return look_or_sleep(looks ? 0 : static_cast<int>(std::min<long long>(left, INT_MAX)), wake);
}

WaitResult SocketGroup::look_or_sleep(int milliseconds, int wake) {
    const WaitResult waited =
        is_few() ? poll_few(milliseconds, wake) : ask_epoll(milliseconds, wake);
    // A check that did not sleep is no timeout. The caller continues to spin.
    return waited == WaitResult::timed_out && milliseconds == 0 ? WaitResult::look : waited;
}

WaitResult SocketGroup::poll_few(int milliseconds, int wake) {
    std::array<pollfd, few + 1> fds;
    nfds_t count = 0;
    for (const Member& member : members_) {
        const bool awaits_room = member.connection->unsent();
        fds[count++] = {member.connection->fd(),
                        static_cast<short>(awaits_room ? POLLIN | POLLOUT : POLLIN), 0};
    }
    fds[count] = {wake, POLLIN, 0};
    const int found = ::poll(fds.data(), count + 1, milliseconds);
    if (found == 0)
        return WaitResult::timed_out;
    if (found > 0 && fds[count].revents != 0)
        return WaitResult::woken;
    mark_all_ready();
    return WaitResult::look; // also after a signal, which costs one poll() of each connection
}

WaitResult SocketGroup::ask_epoll(int milliseconds, int wake) {
    if (wake != epoll_wake_) {
        if (epoll_wake_ >= 0)
            static_cast<void>(update_epoll(EPOLL_CTL_DEL, nullptr, epoll_wake_, false));
        static_cast<void>(update_epoll(EPOLL_CTL_ADD, nullptr, wake, false));
        epoll_wake_ = wake;
    }
    for (Member& member : members_)
        if (const bool awaits_room = member.connection->unsent();
            awaits_room != member.awaits_room) {
            member.awaits_room = awaits_room;
            static_cast<void>(update_epoll(EPOLL_CTL_MOD, member.connection,
                                           member.connection->fd(), awaits_room));
        }
    std::array<epoll_event, max_ready> events;
    const int found = ::epoll_wait(epoll_.get(), events.data(), max_ready, milliseconds);
    ready_.clear();
    bool woken = false;
    for (int i = 0; i < found; ++i) {
        auto* const connection =
            static_cast<LaneConnection*>(events[static_cast<std::size_t>(i)].data.ptr);
        woken = woken || !connection;
        if (connection)
            ready_.push_back(connection);
    }
    if (woken)
        return WaitResult::woken;
    return found == 0 ? WaitResult::timed_out : WaitResult::look;
}

} // namespace rpmem::transport
