#include "tools/bench/tcp_socket.hpp"

#include "common/base/deadline.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <optional>

namespace rpmem::bench {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Failure socket_failure(const char* what) {
    return fail_errno(ErrorClass::link_lost, errno, "{} a TCP socket of the limits", what);
}

Failure no_answer() {
    return fail(ErrorClass::link_lost, ETIMEDOUT,
                "the other process of the limits said nothing for {} s",
                std::chrono::duration_cast<std::chrono::seconds>(exchange_timeout).count());
}

Result<Addresses> find(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0)
        return fail(ErrorClass::caller_fault, EADDRNOTAVAIL, "no address of {} for the limits: {}",
                    host, ::gai_strerror(status));
    return Addresses(found, &::freeaddrinfo);
}

Result<> set_up(int fd) {
    const int on = 1;
    const timeval timeout{
        std::chrono::duration_cast<std::chrono::seconds>(exchange_timeout).count(), 0};
    if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0)
        return socket_failure("setting up");
    return {};
}

Result<> wait_for_bytes(int fd) {
    pollfd waited{fd, POLLIN, 0};
    while (true) {
        const int ready = ::poll(&waited, 1, static_cast<int>(exchange_timeout.count()));
        if (ready > 0)
            return {};
        if (ready == 0)
            return no_answer();
        if (errno != EINTR)
            return socket_failure("waiting for");
    }
}

int flags_of(Waiting waiting) {
    return MSG_NOSIGNAL | (waiting == Waiting::sleeping ? 0 : MSG_DONTWAIT);
}

// Of a loop that spins: looks at the time so seldom that it costs nothing.
class Patience {
public:
    [[nodiscard]] bool ends() {
        constexpr unsigned look_at_clock = 1U << 16;
        if (++tries_ % look_at_clock != 0)
            return false;
        if (!deadline_)
            deadline_.emplace(exchange_timeout);
        return deadline_->passed();
    }

private:
    unsigned tries_ = 0;
    std::optional<Deadline> deadline_;
};

// As many bytes as one call took.
template <typename Call>
Result<std::size_t> try_until_moved(Waiting waiting, Call call) {
    Patience patience;
    while (true) {
        const ssize_t moved = call();
        if (moved > 0)
            return static_cast<std::size_t>(moved);
        if (moved == 0)
            return fail(ErrorClass::link_lost, ECONNRESET, "a connection of the limits was closed");
        if (errno != EAGAIN && errno != EINTR)
            return socket_failure("using");
        if (errno == EAGAIN && (waiting == Waiting::sleeping || patience.ends()))
            return no_answer();
        if (waiting == Waiting::yielding)
            (void)::sched_yield();
    }
}

} // namespace

// Where there may be more threads than processors, those that only spin keep each other from them.
Waiting waiting_of(const LimitTask& task) {
    if (task.kind != LimitKind::tcp_spinning)
        return Waiting::sleeping;
    return task.connections > 1 ? Waiting::yielding : Waiting::spinning;
}

Result<Listener> Listener::open(const std::string& address) {
    RPMEM_ASSIGN(auto found, find(address.empty() ? "::" : address, 0));
    UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd && address.empty() && errno == EAFNOSUPPORT) // no IPv6 here
        return open("0.0.0.0");
    const int off = 0;
    if (address.empty())
        (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    auto* const generic = reinterpret_cast<sockaddr*>(&own);
    if (!fd || ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 || ::getsockname(fd.get(), generic, &length) != 0)
        return socket_failure("listening on");
    // The port is at the same place for both families.
    return Listener(std::move(fd), ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port));
}

Result<UniqueFd> Listener::accept(const Token& token) const {
    constexpr milliseconds token_timeout = std::chrono::seconds(2);
    const Deadline deadline(exchange_timeout);
    while (true) {
        RPMEM_ASSIGN(const bool ready, wait_readable(fd_.get(), deadline));
        if (!ready)
            return no_answer();
        UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!fd)
            return socket_failure("accepting");
        Token theirs{};
        if (receive_bytes(fd.get(), theirs, token_timeout) && theirs == token) {
            RPMEM_TRY(set_up(fd.get()));
            return fd;
        }
    }
}

Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, const Token& token) {
    RPMEM_ASSIGN(auto found, find(host, port));
    UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd)
        return socket_failure("making");
    RPMEM_TRY(set_up(fd.get())); // the time-out is that of connecting, too
    if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0)
        return fail_errno(ErrorClass::link_lost, errno,
                          "connecting to port {} of {} for the limits", port, host);
    RPMEM_TRY(send_bytes(fd.get(), token));
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
    if (waiting == Waiting::sleeping)
        RPMEM_TRY(wait_for_bytes(fd));
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
