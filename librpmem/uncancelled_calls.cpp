// SPDX-License-Identifier: BSD-3-Clause
// The system calls of the fast paths, without cancellation points. The linker option --wrap makes
// librpmem.so call these functions instead of those of the C library, which are cancellation
// points. In a program with threads, a cancellation point alone costs more instructions than one of
// these functions.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>

// The linker requires these names.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" {

ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
    return ::syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t __wrap_send(int fd, const void* bytes, std::size_t size, int flags) {
    return ::syscall(SYS_sendto, fd, bytes, size, flags, nullptr, 0);
}

ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
    return ::syscall(SYS_recvmsg, fd, message, flags);
}

ssize_t __wrap_recv(int fd, void* buffer, std::size_t size, int flags) {
    return ::syscall(SYS_recvfrom, fd, buffer, size, flags, nullptr, nullptr);
}

int __wrap_poll(pollfd* fds, nfds_t count, int milliseconds) {
    constexpr int milliseconds_of_second = 1000;
    constexpr long nanoseconds_of_millisecond = 1000000;
    timespec limit{.tv_sec = milliseconds / milliseconds_of_second,
                   .tv_nsec = milliseconds % milliseconds_of_second * nanoseconds_of_millisecond};
    return static_cast<int>(::syscall(SYS_ppoll, fds, count, milliseconds < 0 ? nullptr : &limit,
                                      nullptr, std::size_t{0}));
}

int __wrap_epoll_wait(int fd, epoll_event* events, int count, int milliseconds) {
    constexpr std::size_t mask_size = 8; // bytes of the kernel's sigset_t
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait, fd, events, count, milliseconds, nullptr, mask_size));
}

ssize_t __wrap_read(int fd, void* buffer, std::size_t size) {
    return ::syscall(SYS_read, fd, buffer, size);
}

ssize_t __wrap_write(int fd, const void* bytes, std::size_t size) {
    return ::syscall(SYS_write, fd, bytes, size);
}

int __wrap_nanosleep(const timespec* time, timespec* rest) {
    return static_cast<int>(::syscall(SYS_nanosleep, time, rest));
}

int __wrap_close(int fd) { return static_cast<int>(::syscall(SYS_close, fd)); }

// Variants that _FORTIFY_SOURCE calls. They need no check, because each caller in this library
// passes the size of its buffer.
ssize_t __wrap___recv_chk(int fd, void* buffer, std::size_t size, std::size_t /*room*/, int flags) {
    return __wrap_recv(fd, buffer, size, flags);
}

ssize_t __wrap___read_chk(int fd, void* buffer, std::size_t size, std::size_t /*room*/) {
    return __wrap_read(fd, buffer, size);
}

int __wrap___poll_chk(pollfd* fds, nfds_t count, int milliseconds, std::size_t /*room*/) {
    return __wrap_poll(fds, count, milliseconds);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
