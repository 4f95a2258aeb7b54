// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a session over libfabric whose lanes carry frames: the server of the daemon with a
// real thread, and a request to connect the library's lanes to it. The provider sockets stands for
// RDMA.
#pragma once

#include "librpmem/lanes/fabric_lanes.hpp"
#include "rpmemd/lanes/fabric_lane_server.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

#include <csignal>
#include <mutex>

namespace rpmem::target {

using test::value_of;

inline transport::ProofSession sample_proof(unsigned lanes, int first = 1) {
    std::array<std::byte, 32> secret;
    for (std::byte& byte : secret)
        byte = static_cast<std::byte>(first++);
    const auto bytes = [](std::string_view text) { return transport::bytes_of(text); };
    return {.keys = value_of(transport::derive_keys(value_of(transport::Secret::copy_of(secret)))),
            .transcript = value_of(transport::transcript_of(bytes("hello"), bytes("answer"),
                                                            bytes("request"), bytes("response"))),
            .lanes = lanes};
}

// A server, and a thread that handles its events like the daemon's control loop.
class ServedSession {
public:
    ServedSession(const std::vector<Share>& shares, PoolAccess access, unsigned lanes,
                  bool read_only = false, Log log = {},
                  std::size_t max_unproven = transport::max_known,
                  std::chrono::milliseconds unproven_timeout = transport::unproven_timeout)
        : pool(shares),
          server(value_of(FabricLaneServer::start({.provider = fabric::ProviderKind::sockets,
                                                   .address = test::loopback,
                                                   .device = "",
                                                   .lanes = lanes,
                                                   .inline_size = inline_size,
                                                   .workers = 1,
                                                   .spin_time = std::chrono::microseconds(0),
                                                   .paging = PagingPolicy::never,
                                                   .access = access,
                                                   .read_only = read_only,
                                                   .digests = true,
                                                   .max_unproven = max_unproven,
                                                   .unproven_timeout = unproven_timeout},
                                                  {pool.begin(), pool_size}, pool.medium(),
                                                  std::move(log)))) {
        static_cast<void>(std::signal(SIGPIPE, SIG_IGN)); // like rpmemd
        if (!server->secure(sample_proof(lanes)))
            throw std::runtime_error("no proof");
        thread_ = std::thread([this] { run(); });
    }
    ~ServedSession() {
        stopping_ = true;
        changed_.raise();
        thread_.join();
    }
    ServedSession(const ServedSession&) = delete;
    ServedSession& operator=(const ServedSession&) = delete;

    // While ASLEEP, no connection is accepted.
    void sleep(bool asleep) {
        const std::lock_guard lock(turn_);
        asleep_ = asleep;
        changed_.raise();
    }
    // Repeats ATTEMPT until it succeeds. Returns false after a timeout.
    [[nodiscard]] static bool succeeds_in_time(const std::function<bool()>& attempt) {
        const Deadline deadline(test::fabric_timeout);
        bool done = attempt();
        while (!done && !deadline.passed())
            done = attempt();
        return done;
    }

    static constexpr std::size_t inline_size = 16 * 1024;
    GuardedPool pool;
    std::unique_ptr<FabricLaneServer> server;

private:
    void run() {
        while (!stopping_) {
            if (asleep_) {
                static_cast<void>(wait_readable(changed_.fd(), Deadline(test::fabric_timeout)));
            } else {
                std::array<pollfd, 2> fds{
                    {{changed_.fd(), POLLIN, 0}, {server->events_fd(), POLLIN, 0}}};
                if (!server->wait(fds, test::fabric_timeout))
                    return;
                const std::lock_guard lock(turn_);
                if (!asleep_ && !server->handle_events())
                    return;
            }
            changed_.clear();
        }
    }

    Event changed_ = test::value_of(Event::make());
    std::atomic<bool> stopping_ = false;
    std::mutex turn_; // held while events are handled
    std::atomic<bool> asleep_ = false;
    std::thread thread_;
};

inline initiator::Settings fabric_settings() {
    initiator::Settings settings =
        initiator::read_settings([](const char*) -> const char* { return nullptr; });
    settings.operation_timeout = test::fabric_timeout;
    settings.connect_timeout = test::fabric_timeout;
    settings.spin_time = std::chrono::microseconds(0);
    return settings;
}

// Returns what the library needs to connect to SERVER. FD is readable if the session is lost.
inline initiator::LanesRequest request_for(const FabricLaneServer& server,
                                           std::span<std::byte> memory, wire::PersistMethod method,
                                           int fd) {
    initiator::LanesRequest request{
        .kind = fabric::ProviderKind::sockets,
        .host = test::loopback,
        .port = server.port(),
        .pool = memory.data(),
        .pool_size = memory.size(),
        .remote = std::nullopt,
        .method = method,
        .lanes = server.lanes(),
        .interrupt = {fd, [] { return true; }},
        .proof = std::make_shared<const transport::ProofSession>(sample_proof(server.lanes())),
        .inline_size = ServedSession::inline_size,
        .digests = true};
    if (server.is_direct())
        request.remote = {server.remote_base(), server.key()};
    return request;
}

} // namespace rpmem::target
