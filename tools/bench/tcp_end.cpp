#include "tcp_end.hpp"

#include "base/deadline.hpp"
#include "threads.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace rpmem::bench {
namespace {

Failure socket_failure(const char* what) {
    return fail_errno(ErrorClass::resource_limit, errno, "{} a TCP socket on loopback", what);
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

Result<> set_up_connection(int fd) {
    const int on = 1;
    const timeval timeout{exchange_timeout.count(), 0};
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0)
        return socket_failure("setting up");
    return {};
}

// TRANSFER is one call of send or recv on the bytes that are left.
template <typename Transfer>
Result<> transfer_all(std::size_t size, bool spinning, Transfer transfer) {
    constexpr unsigned look_at_clock = 1U << 20;
    unsigned idle = 0;
    Deadline deadline(exchange_timeout);
    for (std::size_t done = 0; done < size;) {
        const ssize_t moved = transfer(done);
        if (moved > 0) {
            done += static_cast<std::size_t>(moved);
        } else if (moved == 0) {
            return fail(ErrorClass::link_lost, ECONNRESET, "the raw TCP connection was closed");
        } else if (errno == EAGAIN && spinning) {
            if (++idle % look_at_clock == 0 && deadline.passed())
                return no_answer();
        } else if (errno == EAGAIN) {
            return no_answer();
        } else if (errno != EINTR) {
            return socket_failure("using");
        }
    }
    return {};
}

Result<> send_all(int fd, std::span<const std::byte> bytes, bool spinning) {
    const int flags = MSG_NOSIGNAL | (spinning ? MSG_DONTWAIT : 0);
    return transfer_all(bytes.size(), spinning, [&](std::size_t done) {
        return ::send(fd, bytes.data() + done, bytes.size() - done, flags);
    });
}

Result<> receive_all(int fd, std::span<std::byte> bytes, bool spinning) {
    const int flags = spinning ? MSG_DONTWAIT : MSG_WAITALL;
    return transfer_all(bytes.size(), spinning, [&](std::size_t done) {
        return ::recv(fd, bytes.data() + done, bytes.size() - done, flags);
    });
}

Result<> ask_on(int fd, std::span<std::byte> buffer, const Exchange& exchange,
                std::vector<std::uint64_t>& nanoseconds) {
    nanoseconds.reserve(exchange.count);
    for (std::uint64_t i = 0; i < exchange.count; ++i) {
        const Nanoseconds begin = now();
        RPMEM_TRY(send_all(fd, buffer.first(exchange.request), exchange.spinning));
        RPMEM_TRY(receive_all(fd, buffer.first(exchange.answer), exchange.spinning));
        nanoseconds.push_back(static_cast<std::uint64_t>((now() - begin).count()));
    }
    return {};
}

Result<> answer_on(int fd, std::span<std::byte> buffer, const Exchange& exchange) {
    for (std::uint64_t i = 0; i < exchange.count; ++i) {
        RPMEM_TRY(receive_all(fd, buffer.first(exchange.request), exchange.spinning));
        RPMEM_TRY(send_all(fd, buffer.first(exchange.answer), exchange.spinning));
    }
    return {};
}

} // namespace

Result<TcpEnd> TcpEnd::listen() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (!fd || ::bind(fd.get(), generic, length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), generic, &length) != 0)
        return socket_failure("listening on");
    TcpEnd end(ntohs(address.sin_port));
    end.listener_ = std::move(fd);
    return end;
}

Result<UniqueFd> TcpEnd::connect_one() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port_);
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        return socket_failure("connecting");
    return fd;
}

Result<UniqueFd> TcpEnd::accept_one() const {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd)
        return socket_failure("accepting");
    return fd;
}

Result<> TcpEnd::prepare(const Exchange& exchange) {
    while (connections_.size() < exchange.connections) {
        Result<UniqueFd> fd = listener_ ? accept_one() : connect_one();
        if (!fd)
            return propagate(std::move(fd));
        RPMEM_TRY(set_up_connection(fd->get()));
        connections_.push_back(std::move(*fd));
        buffers_.emplace_back();
    }
    const std::size_t size = std::max(exchange.request, exchange.answer);
    for (std::uint32_t i = 0; i < exchange.connections; ++i) {
        if (buffers_[i].bytes().size() >= size)
            continue;
        Result<Buffer> larger = Buffer::make(size, Pages::touched);
        if (!larger)
            return propagate(std::move(larger));
        buffers_[i] = std::move(*larger);
    }
    return {};
}

Result<> TcpEnd::ask(const Exchange& exchange, std::vector<std::uint64_t>& nanoseconds) {
    std::vector<std::vector<std::uint64_t>> of_each(exchange.connections);
    const Result<> done = in_threads(exchange.connections, [&](unsigned i) {
        return ask_on(connections_[i].get(), buffers_[i].bytes(), exchange, of_each[i]);
    });
    RPMEM_TRY(done);
    for (const auto& values : of_each)
        nanoseconds.insert(nanoseconds.end(), values.begin(), values.end());
    return {};
}

Result<> TcpEnd::answer(const Exchange& exchange) {
    return in_threads(exchange.connections, [&](unsigned i) {
        return answer_on(connections_[i].get(), buffers_[i].bytes(), exchange);
    });
}

} // namespace rpmem::bench
