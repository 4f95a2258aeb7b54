// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/control_output.hpp"

#include "common/base/quiet_thread.hpp"
#include "common/wire/unsolicited.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

namespace rpmem::target {
namespace {

// Writes without blocking. Returns the number of bytes written, which is 0 if the call would block,
// or -1 with errno. A pipe that is ready accepts PIPE_BUF bytes at once.
ssize_t write_at_once(int fd, std::span<const std::byte> message) {
    static_assert(PIPE_BUF >= 512);
    pollfd entry = {fd, POLLOUT, 0};
    if (::poll(&entry, 1, 0) <= 0 || (entry.revents & POLLOUT) == 0)
        return 0;
    const ssize_t sent = ::send(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != ENOTSOCK)
        return sent;
    return ::write(fd, message.data(), message.size());
}

} // namespace

Result<> ControlOutput::send(std::span<const std::byte> message, const Deadline& deadline) {
    const std::lock_guard lock(mutex_);
    if (broken_)
        return fail(ErrorClass::link_lost, EPIPE, "an earlier message could not be sent");
    auto sent = write_fully(fd_, message, deadline);
    broken_ = !sent;
    return sent;
}

bool ControlOutput::send_if_there_is_room(std::span<const std::byte> message) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || broken_)
        return false;
    const ssize_t sent = write_at_once(fd_, message);
    // No system sends a part of a short message. If one did, the peer could not resynchronise.
    broken_ = sent > 0 && static_cast<std::size_t>(sent) < message.size();
    return sent > 0 && !broken_;
}

Result<Heartbeat> Heartbeat::start(ControlOutput& output, std::chrono::milliseconds interval) {
    RPMEM_ASSIGN(auto stop, Event::make());
    try {
        auto thread = start_without_signals(
            [&output, interval, stop = stop.fd(), message = wire::encode_target_heartbeat()] {
                pollfd entry = {stop, POLLIN, 0};
                do {
                    output.send_if_there_is_room(message);
                } while (::poll(&entry, 1, static_cast<int>(interval.count())) <= 0);
            });
        return Heartbeat(std::move(stop), std::move(thread));
    } catch (const std::system_error& error) {
        return fail(ErrorClass::resource_limit, error.code().value(),
                    "cannot start a thread for heartbeats: {}", error.what());
    }
}

Heartbeat::~Heartbeat() {
    if (!thread_.joinable())
        return;
    stop_.raise();
    thread_.join();
}

} // namespace rpmem::target
