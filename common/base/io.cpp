// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/io.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>

namespace rpmem {
namespace {

// Returns false if DEADLINE passes or CANCEL becomes readable first.
Result<bool> wait_for(int fd, short events, const Deadline& deadline, int cancel) {
    while (true) {
        pollfd fds[2] = {{fd, events, 0}, {cancel, POLLIN, 0}};
        const int ready = ::poll(fds, cancel >= 0 ? 2 : 1, deadline.poll_timeout());
        if (ready < 0 && errno != EINTR)
            return fail_errno(ErrorClass::bug, errno, "cannot wait for descriptor {} (poll)", fd);
        if (ready > 0)
            return fds[0].revents != 0;
        if (ready == 0 && deadline.passed())
            return false;
    }
}

Result<> await_reader(int fd, const Deadline& deadline) {
    RPMEM_ASSIGN(const bool ready, wait_for(fd, POLLOUT, deadline, -1));
    if (!ready)
        return fail(ErrorClass::link_lost, ETIMEDOUT,
                    "the reader accepted no data within the time allowed");
    return {};
}

// Returns the result of send(2) or write(2), with errno. A pipe may be in blocking mode, and
// write(2) has no MSG_DONTWAIT. poll(2) reports a pipe as writable when PIPE_BUF bytes fit, so no
// more are written.
Result<ssize_t> write_some(int fd, std::span<const std::byte> data, const Deadline& deadline) {
    const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != ENOTSOCK)
        return sent;
    RPMEM_TRY(await_reader(fd, deadline));
    return ::write(fd, data.data(), std::min<std::size_t>(data.size(), PIPE_BUF));
}

} // namespace

Result<bool> wait_readable(int fd, const Deadline& deadline, int cancel) {
    return wait_for(fd, POLLIN, deadline, cancel);
}

Result<bool> wait_writable(int fd, const Deadline& deadline) {
    return wait_for(fd, POLLOUT, deadline, -1);
}

Result<std::size_t> read_fully(int fd, std::span<std::byte> buffer, const Deadline& deadline) {
    std::size_t done = 0;
    while (done < buffer.size()) {
        RPMEM_ASSIGN(const bool ready, wait_for(fd, POLLIN, deadline, -1));
        if (!ready)
            return fail(ErrorClass::link_lost, ETIMEDOUT, "no data within the time allowed");
        const ssize_t got = ::read(fd, buffer.data() + done, buffer.size() - done);
        if (got == 0)
            break;
        if (got > 0)
            done += static_cast<std::size_t>(got);
        else if (errno != EINTR && errno != EAGAIN)
            return fail_errno(ErrorClass::link_lost, errno, "cannot read from the other end");
    }
    return done;
}

Result<> write_fully(int fd, std::span<const std::byte> data, const Deadline& deadline) {
    std::size_t done = 0;
    while (done < data.size()) {
        RPMEM_ASSIGN(const ssize_t put, write_some(fd, data.subspan(done), deadline));
        if (put >= 0) {
            done += static_cast<std::size_t>(put);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return fail_errno(ErrorClass::link_lost, errno, "cannot write {} bytes",
                              data.size() - done);
        RPMEM_TRY(await_reader(fd, deadline));
    }
    return {};
}

bool is_file_at(int fd, int directory, const std::string& name) {
    struct stat ours {};
    struct stat named {};
    return ::fstat(fd, &ours) == 0 &&
           ::fstatat(directory, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

Result<Event> Event::make() {
    UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make an eventfd");
    return Event(std::move(fd));
}

void Event::raise() const {
    const std::uint64_t one = 1;
    // The write fails only if the counter is at its maximum. Then the event is raised already.
    [[maybe_unused]] const ssize_t ignored = ::write(fd_.get(), &one, sizeof(one));
}

void Event::clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = ::read(fd_.get(), &count, sizeof(count));
}

std::string limit_behind(int code, const char* use) {
    rlimit limit{};
    if (code != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return {};
    return fmt::format(": the limit of this process is {} (ulimit -n; LimitNOFILE= of systemd), "
                       "and {}",
                       limit.rlim_cur, use);
}

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot make a pipe (see the limit 'ulimit -n')");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<SocketPair> make_socket_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot make a socket pair (see the limit 'ulimit -n')");
    return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

} // namespace rpmem
