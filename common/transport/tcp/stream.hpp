// SPDX-License-Identifier: BSD-3-Clause
// A stream of bytes without boundaries: a socket, TLS upon it, or one of the simulator.
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

    // Both return how many bytes were moved, of receive() 0 at the end, or a negative errno value;
    // -EAGAIN: not now. MORE: other bytes follow at once.
    virtual ssize_t send(std::span<const iovec> pieces, bool more) = 0;
    virtual ssize_t receive(std::span<const iovec> places) = 0;
    // As receive(), of what earlier calls took from the network and kept: fd() tells nothing of it.
    virtual ssize_t receive_kept(std::span<const iovec>) { return -EAGAIN; }
    // Whether it has something to tell.
    [[nodiscard]] virtual bool has_kept() const { return false; }
    // Nothing more will be sent: the peer reads the end behind what was.
    virtual void finish() = 0;
    // Nothing of what is on its way is waited for.
    virtual void reset() = 0;
    [[nodiscard]] virtual int fd() const = 0;
    // The stream still holds bytes that send() has accepted. It sends them in later calls of send()
    // and receive(), when the network has room.
    [[nodiscard]] virtual bool pending() const { return false; }
    // The cause of a failure, beyond its errno value.
    [[nodiscard]] virtual std::string_view reason() const { return {}; }
};

// How several pieces go by one call. sendmsg(2) raises no SIGPIPE, which would end a program that
// only loaded the library. Its message may name any address, and no filter of system calls sees
// that: a confined daemon, which ignores SIGPIPE, has writev(2) only.
enum class PieceCall { sendmsg, writev };

class SocketStream final : public Stream {
public:
    // The socket does not block.
    explicit SocketStream(UniqueFd socket, PieceCall piece_call = PieceCall::sendmsg)
        : socket_(std::move(socket)), piece_call_(piece_call) {}

    ssize_t send(std::span<const iovec> pieces, bool more) override;
    ssize_t receive(std::span<const iovec> places) override;
    void finish() override;
    void reset() override;
    [[nodiscard]] int fd() const override { return socket_.get(); }

private:
    ssize_t send_pieces(std::span<const iovec> pieces, int flags) const;

    UniqueFd socket_;
    PieceCall piece_call_;
};

// For a connected socket, or one that listens and hands them on: small messages go at once, and a
// peer whose kernel acknowledges nothing for PEER_TIMEOUT has gone.
void prepare_lane_socket(int socket, std::chrono::milliseconds peer_timeout);

// Grows the receive buffer of a socket as far as the system's limits let everybody, towards BYTES.
// Returns how many bytes of frames an honest peer may send before it is acknowledged, so that the
// window stays open: while it is closed, the kernel of the peer counts its TCP_USER_TIMEOUT.
std::uint32_t credit_bytes(int socket, int bytes);

} // namespace rpmem::transport
