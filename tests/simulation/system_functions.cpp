// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of the C library for system calls, by the linker's --wrap. Calls for
// simulated descriptors go to the SimulatedSystem. Other descriptors, and all calls while nothing
// is simulated, go to the kernel.
#include "tests/simulation/interposed.hpp"
#include "tests/simulation/simulated_system.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using rpmem::simulation::Side;
using rpmem::simulation::SimulatedSystem;

namespace {

SimulatedSystem* simulated(int fd) {
    return fd >= rpmem::simulation::first_descriptor ? SimulatedSystem::current() : nullptr;
}

template <typename T>
T to_errno(T result) {
    if (result >= 0)
        return result;
    errno = static_cast<int>(-result);
    return -1;
}

// All ends have the same address.
void put_name(sockaddr* name, socklen_t* size, std::uint16_t port) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(port);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(name, &own, std::min<std::size_t>(*size, sizeof(own)));
    *size = sizeof(own);
}

constexpr int receive_buffer_of_kernel = 1 << 20;

} // namespace

STANDS_FOR(int, socket, int domain, int type, int protocol) {
    SimulatedSystem* const system = SimulatedSystem::current();
    return system ? to_errno(system->open_socket()) : __real_socket(domain, type, protocol);
}

STANDS_FOR(int, bind, int fd, const sockaddr* name, socklen_t size) {
    return simulated(fd) ? 0 : __real_bind(fd, name, size);
}

STANDS_FOR(int, listen, int fd, int backlog) {
    SimulatedSystem* const system = simulated(fd);
    return system ? system->listen(fd) : __real_listen(fd, backlog);
}

STANDS_FOR(int, getsockname, int fd, sockaddr* name, socklen_t* size) {
    if (!simulated(fd))
        return __real_getsockname(fd, name, size);
    put_name(name, size, SimulatedSystem::current()->port_of_listener(fd));
    return 0;
}

STANDS_FOR(int, getpeername, int fd, sockaddr* name, socklen_t* size) {
    if (!simulated(fd))
        return __real_getpeername(fd, name, size);
    put_name(name, size, static_cast<std::uint16_t>(fd - rpmem::simulation::first_descriptor));
    return 0;
}

STANDS_FOR(int, setsockopt, int fd, int level, int name, const void* value, socklen_t size) {
    SimulatedSystem* const system = simulated(fd);
    if (!system)
        return __real_setsockopt(fd, level, name, value, size);
    if (level == SOL_SOCKET && name == SO_LINGER && static_cast<const linger*>(value)->l_onoff != 0)
        system->reset_on_close(fd);
    return 0;
}

STANDS_FOR(int, getsockopt, int fd, int level, int name, void* value, socklen_t* size) {
    SimulatedSystem* const system = simulated(fd);
    if (!system)
        return __real_getsockopt(fd, level, name, value, size);
    const bool is_error = level == SOL_SOCKET && name == SO_ERROR;
    const int number = is_error ? system->take_error(fd) : receive_buffer_of_kernel;
    std::memcpy(value, &number, sizeof(number));
    return 0;
}

STANDS_FOR(int, connect, int fd, const sockaddr* name, socklen_t size) {
    SimulatedSystem* const system = simulated(fd);
    if (!system)
        return __real_connect(fd, name, size);
    return to_errno(
        system->connect(fd, ntohs(reinterpret_cast<const sockaddr_in*>(name)->sin_port)));
}

STANDS_FOR(int, accept4, int fd, sockaddr* name, socklen_t* size, int flags) {
    SimulatedSystem* const system = simulated(fd);
    return system ? to_errno(system->accept(fd)) : __real_accept4(fd, name, size, flags);
}

STANDS_FOR(ssize_t, send, int fd, const void* data, std::size_t length, int flags) {
    SimulatedSystem* const system = simulated(fd);
    if (system && system->is_pipe(fd) && system->end(fd).side == Side::target)
        return to_errno(-ENOTSOCK);
    const iovec whole{const_cast<void*>(data), length};
    return system ? to_errno(system->send(fd, {&whole, 1}, (flags & MSG_MORE) != 0))
                  : __real_send(fd, data, length, flags);
}

STANDS_FOR(ssize_t, sendmsg, int fd, const msghdr* message, int flags) {
    SimulatedSystem* const system = simulated(fd);
    return system ? to_errno(system->send(fd, {message->msg_iov, message->msg_iovlen},
                                          (flags & MSG_MORE) != 0))
                  : __real_sendmsg(fd, message, flags);
}

STANDS_FOR(ssize_t, recv, int fd, void* place, std::size_t length, int flags) {
    SimulatedSystem* const system = simulated(fd);
    const iovec whole{place, length};
    return system ? to_errno(system->receive(fd, {&whole, 1}))
                  : __real_recv(fd, place, length, flags);
}

// With _FORTIFY_SOURCE, the compiler calls these instead of recv(2), read(2) and poll(2) where it
// cannot prove the size of a buffer.
STANDS_FOR(ssize_t, __recv_chk, int fd, void* place, std::size_t length, std::size_t, int flags) {
    return __wrap_recv(fd, place, length, flags);
}

STANDS_FOR(ssize_t, recvmsg, int fd, msghdr* message, int flags) {
    SimulatedSystem* const system = simulated(fd);
    return system ? to_errno(system->receive(fd, {message->msg_iov, message->msg_iovlen}))
                  : __real_recvmsg(fd, message, flags);
}

STANDS_FOR(int, shutdown, int fd, int how) {
    SimulatedSystem* const system = simulated(fd);
    return system ? system->finish(fd) : __real_shutdown(fd, how);
}

STANDS_FOR(int, close, int fd) {
    SimulatedSystem* const system = simulated(fd);
    if (!system && fd >= rpmem::simulation::first_descriptor)
        return 0; // a descriptor of a world that has ended
    return system ? system->close(fd) : __real_close(fd);
}

STANDS_FOR(int, eventfd, unsigned count, int flags) {
    SimulatedSystem* const system = SimulatedSystem::current();
    return system ? system->open_flag() : __real_eventfd(count, flags);
}

STANDS_FOR(ssize_t, write, int fd, const void* data, std::size_t length) {
    SimulatedSystem* const system = simulated(fd);
    if (!system)
        return __real_write(fd, data, length);
    const iovec whole{const_cast<void*>(data), length};
    if (!system->is_flag(fd))
        return to_errno(system->send(fd, {&whole, 1}, false));
    system->set_flag(fd, true);
    return static_cast<ssize_t>(length);
}

STANDS_FOR(ssize_t, writev, int fd, const iovec* pieces, int count) {
    SimulatedSystem* const system = simulated(fd);
    return system ? to_errno(system->send(fd, {pieces, static_cast<std::size_t>(count)}, false))
                  : __real_writev(fd, pieces, count);
}

STANDS_FOR(ssize_t, read, int fd, void* place, std::size_t length) {
    SimulatedSystem* const system = simulated(fd);
    if (!system)
        return __real_read(fd, place, length);
    const iovec whole{place, length};
    if (system->file(fd))
        return to_errno(system->read_file(fd, {static_cast<std::byte*>(place), length}));
    if (!system->is_flag(fd))
        return to_errno(system->receive(fd, {&whole, 1}));
    system->set_flag(fd, false);
    return static_cast<ssize_t>(length);
}

STANDS_FOR(ssize_t, __read_chk, int fd, void* place, std::size_t length, std::size_t) {
    return __wrap_read(fd, place, length);
}

STANDS_FOR(int, epoll_create1, int flags) {
    SimulatedSystem* const system = SimulatedSystem::current();
    return system ? system->open_epoll() : __real_epoll_create1(flags);
}

STANDS_FOR(int, epoll_ctl, int epoll, int operation, int fd, epoll_event* event) {
    SimulatedSystem* const system = simulated(epoll);
    return system ? to_errno(system->change_epoll(epoll, operation, fd, event))
                  : __real_epoll_ctl(epoll, operation, fd, event);
}

STANDS_FOR(int, epoll_wait, int epoll, epoll_event* events, int most, int milliseconds) {
    SimulatedSystem* const system = simulated(epoll);
    if (!system)
        return __real_epoll_wait(epoll, events, most, milliseconds);
    pollfd all{epoll, POLLIN, 0};
    if (milliseconds != 0 && system->poll({&all, 1}, milliseconds) == 0)
        return 0;
    return system->events_of(epoll, {events, static_cast<std::size_t>(most)});
}

STANDS_FOR(int, poll, pollfd* fds, nfds_t count, int milliseconds) {
    SimulatedSystem* const system = SimulatedSystem::current();
    return system ? system->poll({fds, count}, milliseconds)
                  : __real_poll(fds, count, milliseconds);
}

STANDS_FOR(int, __poll_chk, pollfd* fds, nfds_t count, int milliseconds, std::size_t) {
    return __wrap_poll(fds, count, milliseconds);
}

// The C++ library calls this for std::chrono::steady_clock.
TAKES_THE_PLACE_OF(int, clock_gettime, clockid_t clock, timespec* time) {
    static auto* const next = rpmem::simulation::next_of("clock_gettime", &clock_gettime);
    SimulatedSystem* const system = SimulatedSystem::current();
    if (!system || clock != CLOCK_MONOTONIC)
        return next(clock, time);
    const rpmem::simulation::Time now = system->world().clock();
    time->tv_sec = static_cast<time_t>(now / rpmem::simulation::second);
    time->tv_nsec = static_cast<long>(now % rpmem::simulation::second);
    return 0;
}
