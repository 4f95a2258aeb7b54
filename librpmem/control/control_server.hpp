// SPDX-License-Identifier: BSD-3-Clause
// The socket through which rpmemctl steers the pools of this process. The first pool with
// RPMEM_ON_LOSS=alone creates it, and it is removed when the last pool of the process is closed.
// Only this user and root may use it, which the mode of the file and SO_PEERCRED ensure.
//
// The server has no thread. LinkThread calls serve() once a second, so an answer takes up to a
// second.
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "librpmem/control/control_message.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <string>

namespace rpmem::initiator {

class ControlServer {
public:
    using Handle = std::function<Result<>(const ControlRequest& request)>;
    static constexpr std::size_t max_connections = 4;
    static constexpr std::chrono::milliseconds request_timeout{1000};

    ControlServer() = default;
    ~ControlServer() { stop(); }
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

    // Creates the socket below RUNTIME_DIR, unless it exists. Returns its path. Thread-safe.
    Result<std::string> start(const std::string& runtime_dir);
    // Accepts connections, reads their requests, calls HANDLE, and sends the answers. Never waits:
    // a connection without a request is kept for the next call, until request_timeout has passed.
    void serve(const Handle& handle) noexcept;
    // Removes the socket.
    void stop() noexcept;

private:
    struct Connection {
        UniqueFd socket;
        std::chrono::steady_clock::time_point accepted;
    };
    // A child made by fork(2) starts with an empty one.
    struct Shared {
        std::mutex mutex;
        std::string path;
        UniqueFd listener;
        std::array<Connection, max_connections> connections;
    };

    Result<> listen(const std::string& path);
    void accept_connections();
    static void drop(Connection& connection);
    void serve_one(Connection& connection, const Handle& handle);
    void release_in_child();

    Shared shared_;
    ForkListener in_children_{
        [](void* owner) { static_cast<ControlServer*>(owner)->release_in_child(); }, this};
};

} // namespace rpmem::initiator
