// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/ssh_socket.hpp"

#include "common/base/host_address.hpp"
#include "common/base/io.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

// A target that has disappeared is noticed after probe_idle + probe_count * probe_interval seconds.
constexpr int probe_idle = 30;
constexpr int probe_interval = 10;
constexpr int probe_count = 3;

void set_option(int fd, int level, int option, int value) {
    // The connection works without the option, too.
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof(value)));
}

void set_options(int fd) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, probe_idle);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_interval);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, probe_count);
}

// Returns 0 or a positive errno value.
int await_connection(int fd, const Deadline& deadline) {
    const auto ready = wait_writable(fd, deadline);
    if (!ready || !*ready)
        return ready ? ETIMEDOUT : ready.error().code;
    int code = 0;
    socklen_t size = sizeof(code);
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno;
}

// HOST and PORT are for messages.
Result<UniqueFd> connect_to(const addrinfo& address, const std::string& host, std::uint16_t port,
                            const Deadline& deadline) {
    UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int code = 0;
    if (fd)
        set_options(fd.get());
    if (!fd || ::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0)
        code = errno;
    if (code == EINPROGRESS || code == EINTR)
        code = await_connection(fd.get(), deadline);
    if (code == 0)
        return fd;
    if (code == ETIMEDOUT)
        return fail(ErrorClass::link_lost, code,
                    "no answer from {} port {} within the time allowed: is the target up, and does "
                    "a firewall let ssh through?",
                    host, port);
    return fail_errno(ErrorClass::link_lost, code,
                      "cannot connect to {} port {} (does sshd run there?)", host, port);
}

} // namespace

Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port, bool force_ipv4,
                            const Deadline& deadline) {
    const auto list = look_up(host, std::to_string(port), force_ipv4 ? AF_INET : AF_UNSPEC,
                              time_for_names(deadline.left()));
    if (!list)
        return fail(ErrorClass::caller_fault, EHOSTUNREACH, "there is no {}address of {}: {}",
                    force_ipv4 ? "IPv4 " : "", host, list.error().text);
    int left = 0;
    for (const addrinfo* address = list->get(); address; address = address->ai_next)
        ++left;
    for (const addrinfo* address = list->get();; address = address->ai_next, --left) {
        const Deadline share(std::chrono::milliseconds(deadline.poll_timeout() / left));
        auto fd = connect_to(*address, host, port, share);
        if (fd || !address->ai_next)
            return fd;
    }
}

std::string peer_of(int socket) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    auto* const address = reinterpret_cast<sockaddr*>(&peer);
    std::array<char, NI_MAXHOST> text{};
    if (::getpeername(socket, address, &size) != 0 ||
        ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return {};
    return text.data();
}

} // namespace rpmem::initiator::ssh2
