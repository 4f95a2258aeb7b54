// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tcp/stream.hpp"

#include "common/base/hot.hpp"
#include "common/wire/frame.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

template <typename T>
void set_option(int socket, int level, int name, T value) {
    // Without an option the socket is slower, or detects a lost peer later. That is no error.
    static_cast<void>(::setsockopt(socket, level, name, &value, sizeof(value)));
}

// Converts the result of a system call. EINTR becomes -EAGAIN, and the caller tries again.
ssize_t outcome(ssize_t moved) {
    if (moved >= 0) [[likely]]
        return moved;
    return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

// Copies PIECES to PLACE and returns their size, or returns 0 if they do not fit.
std::size_t copy_pieces(std::span<const iovec> pieces, std::span<std::byte> place) {
    std::size_t size = 0;
    for (const iovec& piece : pieces) {
        if (piece.iov_len > place.size() - size)
            return 0;
        std::memcpy(place.data() + size, piece.iov_base, piece.iov_len);
        size += piece.iov_len;
    }
    return size;
}

} // namespace

ssize_t SocketStream::send(std::span<const iovec> pieces, bool more) {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    if (pieces.size() == 1) [[likely]]
        return outcome(::send(fd(), pieces[0].iov_base, pieces[0].iov_len, flags));
    return send_pieces(pieces, flags);
}

ssize_t SocketStream::send_pieces(std::span<const iovec> pieces, int flags) const {
    // The kernel takes longer to process several pieces than this end takes to copy a few bytes.
    std::array<std::byte, 256> joined;
    if (const std::size_t size = copy_pieces(pieces, joined); size > 0)
        return outcome(::send(fd(), joined.data(), size, flags));
    if (piece_call_ == PieceCall::writev)
        return outcome(::writev(fd(), pieces.data(), static_cast<int>(pieces.size())));
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    return outcome(::sendmsg(fd(), &message, flags));
}

RPMEM_NO_CANARY ssize_t SocketStream::receive(std::span<const iovec> places) {
    if (places.size() == 1) [[likely]] // recv(2) is cheaper than recvmsg(2)
        return outcome(::recv(fd(), places[0].iov_base, places[0].iov_len, MSG_DONTWAIT));
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(places.data());
    message.msg_iovlen = places.size();
    return outcome(::recvmsg(fd(), &message, MSG_DONTWAIT));
}

void SocketStream::finish() { static_cast<void>(::shutdown(fd(), SHUT_WR)); }

void SocketStream::reset() {
    set_option(fd(), SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
    socket_.reset();
}

void prepare_lane_socket(int socket, std::chrono::milliseconds peer_timeout) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(peer_timeout).count();
    // Keepalive detects a lost peer while nothing is in transit. The first probe is sent after half
    // of the timeout. Two more follow after a sixth of it each, and the connection ends after
    // another sixth.
    const int idle = static_cast<int>(std::max<long long>(seconds / 2, 1));
    const int interval = static_cast<int>(std::max<long long>(seconds / 6, 1));
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(peer_timeout.count()));
    set_option(socket, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

std::uint32_t credit_bytes(int socket, int bytes) {
    // SO_RCVLOWAT enlarges the buffer to twice its value, up to the third number of tcp_rmem.
    // SO_RCVBUF is limited to rmem_max, which is smaller. The second call restores the low-water
    // mark.
    set_option(socket, SOL_SOCKET, SO_RCVLOWAT, bytes * 2);
    set_option(socket, SOL_SOCKET, SO_RCVLOWAT, 1);
    int buffer = 0;
    socklen_t size = sizeof(buffer);
    if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer, &size) != 0 || buffer <= 0)
        buffer = 0;
    // A quarter of the buffer: the kernel uses half of it for itself, and charges partly filled
    // segments like full ones.
    return std::max(wire::min_credit_bytes, static_cast<std::uint32_t>(buffer) / 4);
}

} // namespace rpmem::transport
