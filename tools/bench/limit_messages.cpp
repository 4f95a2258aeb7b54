#include "limit_messages.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::bench {

Reply refusal(const Error& error) {
    Reply reply;
    reply.error = error.code;
    const std::size_t length = std::min(error.text.size(), reply.text.size() - 1);
    std::copy_n(error.text.begin(), length, reply.text.begin());
    return reply;
}

Result<> result_of(const Reply& reply) {
    if (reply.error == 0)
        return {};
    return fail(ErrorClass::resource_limit, reply.error, "{}", reply.text.data());
}

Result<SocketPair> make_socket_pair() {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make a pair of sockets");
    return SocketPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

bool send_bytes(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

bool receive_bytes(int fd, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

} // namespace rpmem::bench
