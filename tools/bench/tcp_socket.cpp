// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/tcp_socket.hpp"

#include "common/base/io.hpp"
#include "tools/bench/processes.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

namespace rpmem::bench {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Failure socket_failure(const char* what) {
    return fail_errno(ErrorClass::link_lost, errno, "{} a TCP socket of the limits", what);
}

Result<Addresses> find(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
        return fail(ErrorClass::caller_fault, EADDRNOTAVAIL, "no address of {}", host);
    return Addresses(found, &::freeaddrinfo);
}

// Accepted connections inherit TCP_NODELAY from the listening socket.
Result<UniqueFd> make_socket(int family) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (!fd || ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return socket_failure("making");
    return fd;
}

int flags_of(Waiting waiting) {
    return MSG_NOSIGNAL | (waiting == Waiting::sleeping ? 0 : MSG_DONTWAIT);
}

// Repeats CALL until it has transferred bytes, and returns their number.
template <typename Call>
Result<std::size_t> try_until_moved(Waiting waiting, Call call) {
    while (true) {
        const ssize_t moved = call();
        if (moved > 0)
            return static_cast<std::size_t>(moved);
        if (moved == 0)
            return fail(ErrorClass::link_lost, ECONNRESET, "a connection of the limits was closed");
        if (errno != EAGAIN && errno != EINTR)
            return socket_failure("using");
        if (waiting == Waiting::yielding)
            (void)::sched_yield();
    }
}

} // namespace

// With several connections, there may be more threads than processors. Spinning threads would then
// keep each other from running, so they yield.
Waiting waiting_of(const LimitTask& task) {
    if (!task.spins)
        return Waiting::sleeping;
    return task.connections > 1 ? Waiting::yielding : Waiting::spinning;
}

Result<UniqueFd> listen_at(const std::string& host, Place& place) {
    RPMEM_ASSIGN(auto found, find(host, 0));
    RPMEM_ASSIGN(UniqueFd fd, make_socket(found->ai_family));
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 || ::getsockname(fd.get(), generic, &length) != 0)
        return socket_failure("listening on");
    // The port is at the same place for both families.
    place = {host, ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port)};
    return fd;
}

Result<UniqueFd> accept_from(int listener) {
    RPMEM_ASSIGN(const bool ready, wait_readable(listener, Deadline(start_timeout)));
    errno = ETIMEDOUT;
    UniqueFd fd(ready ? ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1);
    if (!fd)
        return socket_failure("accepting");
    return fd;
}

Result<UniqueFd> connect_to(const Place& place) {
    RPMEM_ASSIGN(auto found, find(place.host, place.port));
    RPMEM_ASSIGN(UniqueFd fd, make_socket(found->ai_family));
    if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0)
        return fail_errno(ErrorClass::link_lost, errno,
                          "connecting to port {} of {} for the limits", place.port, place.host);
    return fd;
}

std::optional<Place> youngest_peer() {
    std::vector<int> descriptors = numbered_entries("/proc/self/fd");
    std::ranges::sort(descriptors, std::greater());
    for (const int fd : descriptors) {
        sockaddr_storage peer{};
        auto* const generic = reinterpret_cast<sockaddr*>(&peer);
        socklen_t length = sizeof(peer);
        std::array<char, 64> host{};
        std::array<char, 8> port{};
        if (::getpeername(fd, generic, &length) == 0 && peer.ss_family != AF_UNIX &&
            ::getnameinfo(generic, length, host.data(), host.size(), port.data(), port.size(),
                          NI_NUMERICHOST | NI_NUMERICSERV) == 0)
            return Place{host.data(), static_cast<std::uint16_t>(std::stoul(port.data()))};
    }
    return {};
}

Result<> send_all(int fd, std::span<const std::byte> bytes, Waiting waiting) {
    const int flags = flags_of(waiting);
    const auto send = [&] { return ::send(fd, bytes.data(), bytes.size(), flags); };
    while (!bytes.empty()) {
        RPMEM_ASSIGN(const auto sent, try_until_moved(waiting, send));
        bytes = bytes.subspan(sent);
    }
    return {};
}

Result<std::size_t> receive_some(int fd, std::span<std::byte> bytes, Waiting waiting) {
    pollfd waited{fd, POLLIN, 0};
    if (waiting == Waiting::sleeping && ::poll(&waited, 1, -1) < 0 && errno != EINTR)
        return socket_failure("waiting for");
    const int flags = flags_of(waiting);
    return try_until_moved(waiting, [&] { return ::recv(fd, bytes.data(), bytes.size(), flags); });
}

Result<> receive_all(int fd, std::span<std::byte> bytes, Waiting waiting) {
    while (!bytes.empty()) {
        RPMEM_ASSIGN(const auto got, receive_some(fd, bytes, waiting));
        bytes = bytes.subspan(got);
    }
    return {};
}

} // namespace rpmem::bench
