// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/control/control_client.hpp"

#include "common/base/unique_fd.hpp"
#include "librpmem/control/control_address.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

namespace rpmem::initiator {
namespace {

// A program answers within a second, unless it has stopped or its machine is overloaded.
constexpr timeval answer_timeout{10, 0};

Failure unreachable(const std::string& path, pid_t process, int code) {
    if (code == EACCES || code == EPERM)
        return fail(ErrorClass::caller_fault, EPERM,
                    "process {} belongs to another user; run rpmemctl as that user or as root",
                    process);
    if (code == ENOENT)
        return fail(ErrorClass::caller_fault, code,
                    "the socket {} of process {} was removed; does its XDG_RUNTIME_DIR end with a "
                    "login session (loginctl enable-linger)? Restart the program",
                    path, process);
    return fail_errno(ErrorClass::caller_fault, code, "cannot connect to {} of process {}", path,
                      process);
}

// The path comes from counters that the program has written, so another process may have that
// socket.
Result<> require_process(int socket, const std::string& path, pid_t process) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot find out who has {}", path);
    const uid_t own = ::geteuid();
    if (peer.pid == process && (peer.uid == own || peer.uid == 0 || own == 0))
        return {};
    return fail(ErrorClass::caller_fault, EPERM,
                "process {} of user {} has the socket {}, expected process {}; nothing was sent",
                peer.pid, peer.uid, path, process);
}

Failure no_answer(pid_t process, int code) {
    if (code == EAGAIN)
        return fail(ErrorClass::caller_fault, ETIMEDOUT,
                    "process {} did not answer within {} s; is it stopped? See `rpmemctl status`",
                    process, answer_timeout.tv_sec);
    return fail_errno(ErrorClass::caller_fault, code, "process {} did not answer", process);
}

} // namespace

Result<> steer_program(const std::string& path, pid_t process, const ControlRequest& request) {
    RPMEM_ASSIGN(const auto address, control_address(path));
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot create a socket");
    for (const int option : {SO_SNDTIMEO, SO_RCVTIMEO})
        ::setsockopt(socket.get(), SOL_SOCKET, option, &answer_timeout, sizeof(answer_timeout));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        return errno == EAGAIN ? no_answer(process, errno) : unreachable(path, process, errno);
    RPMEM_TRY(require_process(socket.get(), path, process));
    const auto bytes = encode(request);
    if (::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
        return no_answer(process, errno);
    std::array<std::byte, control_answer_size + 1> buffer;
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0)
        return no_answer(process, got == 0 ? ECONNRESET : errno);
    RPMEM_ASSIGN(const ControlAnswer answer,
                 decode_control_answer(std::span(buffer).first(static_cast<std::size_t>(got))));
    if (answer.code != 0)
        return fail(ErrorClass::caller_fault, static_cast<int>(answer.code & 0xfff), "{}",
                    answer.text);
    return {};
}

} // namespace rpmem::initiator
