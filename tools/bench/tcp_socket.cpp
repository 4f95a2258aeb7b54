#include "tools/bench/tcp_socket.hpp"

#include "common/base/io.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

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
    const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0)
        return fail(ErrorClass::caller_fault, EADDRNOTAVAIL, "no address of {} for the limits: {}",
                    host, ::gai_strerror(status));
    return Addresses(found, &::freeaddrinfo);
}

Result<> set_up(int fd) {
    const int on = 1;
    if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return socket_failure("setting up");
    return {};
}

int flags_of(Waiting waiting) {
    return MSG_NOSIGNAL | (waiting == Waiting::sleeping ? 0 : MSG_DONTWAIT);
}

// As many bytes as one call took.
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

// Where there may be more threads than processors, those that only spin keep each other from them.
Waiting waiting_of(const LimitTask& task) {
    if (!task.spins)
        return Waiting::sleeping;
    return task.connections > 1 ? Waiting::yielding : Waiting::spinning;
}

Result<Listener> Listener::open(const std::string& address) {
    RPMEM_ASSIGN(auto found, find(address, 0));
    UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    if (!fd || ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 || ::getsockname(fd.get(), generic, &length) != 0)
        return socket_failure("listening on");
    // The port is at the same place for both families.
    const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
    return Listener{std::move(fd), {.host = address, .port = port}};
}

Result<UniqueFd> Listener::accept(const std::string& token) const {
    constexpr milliseconds token_timeout = std::chrono::seconds(2);
    const Deadline deadline(start_timeout);
    while (true) {
        RPMEM_ASSIGN(const bool ready, wait_readable(fd.get(), deadline));
        if (!ready)
            return fail(ErrorClass::link_lost, ETIMEDOUT, "nobody connects for the limits");
        UniqueFd accepted(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!accepted)
            return socket_failure("accepting");
        std::string theirs(token.size(), '\0');
        if (read_fully(accepted.get(), std::as_writable_bytes(std::span(theirs)),
                       Deadline(token_timeout)) &&
            theirs == token) {
            RPMEM_TRY(set_up(accepted.get()));
            return accepted;
        }
    }
}

Result<UniqueFd> connect_to(const Place& place, const std::string& token) {
    RPMEM_ASSIGN(auto found, find(place.host, place.port));
    UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd)
        return socket_failure("making");
    RPMEM_TRY(set_up(fd.get()));
    if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0)
        return fail_errno(ErrorClass::link_lost, errno,
                          "connecting to port {} of {} for the limits", place.port, place.host);
    RPMEM_TRY(write_fully(fd.get(), std::as_bytes(std::span(token)), Deadline(start_timeout)));
    return fd;
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
