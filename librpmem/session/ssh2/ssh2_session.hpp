// SPDX-License-Identifier: BSD-3-Clause
// A session of libssh2: an encrypted connection to a server that has sent its host key.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/fork_listener.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <libssh2.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator::ssh2 {

// Used by one thread at a time. Only calls with a deadline wait.
class Ssh2Session {
public:
    // SERVER is for messages. HOST_KEY_ALGORITHMS are sent in this order, the best first.
    static Result<std::unique_ptr<Ssh2Session>>
    start(UniqueFd socket, const std::string& server,
          const std::vector<std::string_view>& host_key_algorithms, const Deadline& deadline);
    ~Ssh2Session(); // closes the connection and all channels
    Ssh2Session(const Ssh2Session&) = delete;
    Ssh2Session& operator=(const Ssh2Session&) = delete;

    [[nodiscard]] LIBSSH2_SESSION* get() const { return session_; }
    [[nodiscard]] int socket() const { return socket_.get(); }
    // Whether libssh2 waits until the socket is writable. Then the call that returned
    // LIBSSH2_ERROR_EAGAIN must be repeated before any other.
    [[nodiscard]] bool blocked_outward() const;
    // Returns the text of the last failure of libssh2.
    [[nodiscard]] std::string last_error() const;

    // Repeats OPERATION while it returns LIBSSH2_ERROR_EAGAIN. Returns its final status, which may
    // be another error of libssh2. Fails with ETIMEDOUT if DEADLINE passes.
    template <typename Operation>
    Result<int> complete(const Operation& operation, const Deadline& deadline) const {
        input_deadline_ = deadline;
        while (true) {
            const int status = operation();
            // A server that sends without end keeps libssh2 from returning LIBSSH2_ERROR_EAGAIN.
            // Then receive() fails after the deadline, and libssh2 returns another error.
            if (deadline.passed() && status != 0)
                return too_late();
            if (status != LIBSSH2_ERROR_EAGAIN) {
                input_deadline_.reset();
                return status;
            }
            RPMEM_TRY(await_socket(deadline));
        }
    }

private:
    Ssh2Session(UniqueFd socket, LIBSSH2_SESSION* session)
        : socket_(std::move(socket)), session_(session) {}
    [[nodiscard]] Result<> prefer(int method, std::span<const std::string_view> names,
                                  const char* what) const;
    [[nodiscard]] Result<> prefer_all(std::span<const std::string_view> host_keys) const;
    [[nodiscard]] Failure no_handshake(int status, const std::string& server) const;
    Result<> await_socket(const Deadline& deadline) const;
    static Failure too_late();
    static ssize_t receive(libssh2_socket_t socket, void* buffer, std::size_t size, int flags,
                           void** context);

    UniqueFd socket_;
    LIBSSH2_SESSION* session_;
    // The deadline of a call of complete(). receive() fails after it.
    mutable std::optional<Deadline> input_deadline_;
    // A child made by fork(2) must not keep the connection open after the parent has ended.
    ForkListener in_children_{
        [](void* owner) { ::close(static_cast<Ssh2Session*>(owner)->socket()); }, this};
    bool is_encrypted_ = false;
};

} // namespace rpmem::initiator::ssh2
