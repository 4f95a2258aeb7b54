// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/control/control_server.hpp"

#include "librpmem/control/control_address.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <optional>

namespace rpmem::initiator {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<ucred> peer_of(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? std::optional(peer)
                                                                            : std::nullopt;
}

Result<> require_user(int socket) {
    const auto peer = peer_of(socket);
    if (peer && (peer->uid == ::geteuid() || peer->uid == 0))
        return {};
    return fail(ErrorClass::caller_fault, EPERM,
                "user {} may not steer a program of user {}; run rpmemctl as that user or as root",
                peer ? static_cast<std::int64_t>(peer->uid) : -1, ::geteuid());
}

// A program that was stopped finds requests whose rpmemctl has given up and reported a failure.
// They must not take effect then.
bool has_ended(int socket) {
    pollfd peer{socket, 0, 0};
    return ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
}

Result<> carry_out(int socket, std::span<const std::byte> bytes,
                   const ControlServer::Handle& handle) {
    RPMEM_TRY(require_user(socket));
    RPMEM_ASSIGN(const ControlRequest request, decode_control_request(bytes));
    return handle(request);
}

void answer(int socket, const Result<>& done) {
    const auto bytes = done ? encode(ControlAnswer{})
                            : encode(ControlAnswer{static_cast<std::uint32_t>(done.error().code),
                                                   done.error().text});
    // A peer that does not read its answer does not get it.
    static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

} // namespace

// No child may inherit the socket before release_in_child() knows of it.
Result<> ControlServer::listen(const std::string& path) {
    RPMEM_ASSIGN(const auto address, control_address(path));
    const auto* const name = reinterpret_cast<const sockaddr*>(&address);
    const auto no_forks = ForkListener::hold_forks();
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot create a socket; does a limit (ulimit -n) bound descriptors?");
    // The process that had this ID before may have been killed.
    if (is_abandoned(path))
        ::unlink(path.c_str());
    if (::bind(socket.get(), name, sizeof(address)) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot bind {}", path);
    if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 ||
        ::listen(socket.get(), max_connections) != 0) {
        const int code = errno;
        ::unlink(path.c_str());
        return fail_errno(ErrorClass::resource_limit, code, "cannot listen at {}", path);
    }
    shared_.listener = std::move(socket);
    return {};
}

Result<std::string> ControlServer::start(const std::string& runtime_dir) {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.listener)
        return shared_.path;
    RPMEM_ASSIGN(const std::string directory, make_control_directory(runtime_dir));
    remove_stale_sockets(directory);
    const std::string path = directory + "/" + std::to_string(::getpid()) + ".sock";
    RPMEM_TRY(listen(path));
    shared_.path = path;
    return path;
}

// More connections wait in the backlog of the socket.
void ControlServer::accept_connections() {
    for (Connection& connection : shared_.connections) {
        if (connection.socket)
            continue;
        const auto no_forks = ForkListener::hold_forks();
        connection.socket.reset(
            ::accept4(shared_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        connection.accepted = Clock::now();
        if (!connection.socket)
            return;
    }
}

void ControlServer::drop(Connection& connection) {
    const auto no_forks = ForkListener::hold_forks();
    connection.socket.reset();
}

// The request of another user is read as well. A socket that is closed with unread bytes would
// discard the answer.
void ControlServer::serve_one(Connection& connection, const Handle& handle) {
    const int socket = connection.socket.get();
    std::array<std::byte, control_request_size + 1> bytes; // one more, to notice longer ones
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    const bool may_follow = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (may_follow && Clock::now() - connection.accepted < request_timeout)
        return;
    if (got > 0 && !has_ended(socket))
        answer(socket,
               carry_out(socket, std::span(bytes).first(static_cast<std::size_t>(got)), handle));
    drop(connection);
}

void ControlServer::serve(const Handle& handle) noexcept {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.listener)
        return;
    accept_connections();
    for (Connection& connection : shared_.connections) {
        if (!connection.socket)
            continue;
        try {
            serve_one(connection, handle);
        } catch (const std::exception&) { // no memory: the peer gets no answer
            drop(connection);
        }
    }
}

void ControlServer::stop() noexcept {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.listener)
        return;
    ::unlink(shared_.path.c_str());
    const auto no_forks = ForkListener::hold_forks();
    shared_.listener.reset();
    for (Connection& connection : shared_.connections)
        connection.socket.reset();
}

// Only closes descriptors, because another thread of the parent may hold the mutex, and free(3) is
// not async-signal-safe.
void ControlServer::release_in_child() {
    shared_.listener.reset();
    for (Connection& connection : shared_.connections)
        connection.socket.reset();
    new (&shared_) Shared();
}

} // namespace rpmem::initiator
