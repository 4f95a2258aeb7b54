// SPDX-License-Identifier: BSD-3-Clause
// A stream of bytes: a socket, TLS over a socket, or a stream of the simulator.
#pragma once

#include "common/base/unique_fd.hpp"

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace rpmem::transport {

class Stream {
public:
    Stream() = default;
    virtual ~Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Return the number of bytes sent or received, or a negative errno value: -EAGAIN if the call
    // would block. receive() returns 0 at the end of the stream. MORE states that more bytes follow
    // at once.
    virtual ssize_t send(std::span<const iovec> pieces, bool more) = 0;
    virtual ssize_t receive(std::span<const iovec> places) = 0;
    // Like receive(), but only returns bytes that earlier calls have buffered. fd() does not become
    // readable for them.
    virtual ssize_t receive_kept(std::span<const iovec>) { return -EAGAIN; }
    // Whether receive_kept() would return something.
    [[nodiscard]] virtual bool has_kept() const { return false; }
    // Ends the sending direction. The peer reads the end of the stream after all bytes sent.
    virtual void finish() = 0;
    // Resets the connection. Bytes in transit may be lost.
    virtual void reset() = 0;
    // Closes the descriptor in a child made by fork(2), by async-signal-safe calls only.
    virtual void release_in_child() = 0;
    [[nodiscard]] virtual int fd() const = 0;
    // Returns whether the stream still holds bytes that send() has accepted. It sends them in later
    // calls of send() and receive(), when the network has room.
    [[nodiscard]] virtual bool pending() const { return false; }
    // Details of a failure, in addition to its errno value.
    [[nodiscard]] virtual std::string_view reason() const { return {}; }
};

// The system call that sends several pieces at once. sendmsg(2) can suppress SIGPIPE, which would
// end an application that only loaded the library. But it can also name a destination address,
// which a seccomp filter cannot see. A confined daemon ignores SIGPIPE and may only use writev(2).
enum class PieceCall { sendmsg, writev };

class SocketStream final : public Stream {
public:
    // SOCKET must be non-blocking.
    explicit SocketStream(UniqueFd socket, PieceCall piece_call = PieceCall::sendmsg)
        : socket_(std::move(socket)), piece_call_(piece_call) {}

    ssize_t send(std::span<const iovec> pieces, bool more) override;
    ssize_t receive(std::span<const iovec> places) override;
    void finish() override;
    void reset() override;
    void release_in_child() override { socket_.reset(); }
    [[nodiscard]] int fd() const override { return socket_.get(); }

private:
    ssize_t send_pieces(std::span<const iovec> pieces, int flags) const;

    UniqueFd socket_;
    PieceCall piece_call_;
};

// Sets the options of the socket of a lane, before connect(2) or after accept(2). Small messages
// are sent without delay. The connection fails if the peer's kernel acknowledges nothing for
// PEER_TIMEOUT.
void prepare_lane_socket(int socket, std::chrono::milliseconds peer_timeout);

// Grows the receive buffer of SOCKET towards BYTES, as far as the system allows without privileges.
// Returns how many bytes of unacknowledged frames the peer may send without closing the TCP window.
// While the window is closed, the TCP_USER_TIMEOUT of the peer's kernel runs.
std::uint32_t credit_bytes(int socket, int bytes);

} // namespace rpmem::transport
