// SPDX-License-Identifier: BSD-3-Clause
// Lanes over TCP. The control loop performs the handshakes, and then passes the connections to the
// workers. Only workers serve lanes, so the control loop still runs while the medium stalls them.
#pragma once

#include "common/transport/tcp/listener.hpp"
#include "rpmemd/lanes/lane_server.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

struct TcpServerOptions {
    std::vector<std::string> addresses; // to listen on; only the first must work
    transport::PortRange ports;
    unsigned lanes;
    unsigned workers; // 0 for one per processor
    std::chrono::microseconds spin_time;
    std::chrono::milliseconds peer_timeout;
    bool tls = false;
    bool read_only = false; // the pool is mapped read-only
    bool digests = false;   // digest frames are allowed, see wire::capability_compare
};

class TcpLaneServer final : public LaneServer, private transport::LaneOwner {
public:
    // The memory of POOL must outlive the server.
    static Result<std::unique_ptr<LaneServer>> start(const TcpServerOptions& options,
                                                     std::span<std::byte> pool,
                                                     const Medium& medium, Log log);
    ~TcpLaneServer() override;

    [[nodiscard]] std::uint16_t port() const override { return listener_->port(); }
    [[nodiscard]] unsigned lanes() const override { return options_.lanes; }
    [[nodiscard]] std::string describe() const override {
        return options_.tls ? "tcp with TLS" : "tcp";
    }
    Result<> secure(transport::ProofSession session) override;
    // The initiator connects further lanes on first use.
    [[nodiscard]] bool ready() const override { return connected_ > 0; }
    [[nodiscard]] int events_fd() const override { return listener_->fd(); }
    Result<> handle_events() override;
    Result<> wait(std::span<pollfd> fds, std::chrono::milliseconds limit) override;

private:
    TcpLaneServer(const TcpServerOptions& options, std::span<std::byte> pool, const Medium& medium,
                  Event failed, Log log)
        : LaneServer({pool, medium, options.read_only, options.digests}, std::move(failed),
                     std::move(log)),
          options_(options), in_use_(std::make_unique<std::atomic<bool>[]>(options.lanes)) {}
    Result<> set_up();
    std::optional<transport::Refused> admit(const transport::LaneIdentity& identity) override;
    void take(const transport::LaneIdentity& identity, std::unique_ptr<transport::Stream> stream,
              std::string name, const wire::LaneCredits& credits) override;
    void lane_ended(unsigned lane, const std::string& how, std::string error_text) override;

    TcpServerOptions options_;
    transport::SystemRandom random_;
    std::optional<transport::TlsContext> tls_;
    std::unique_ptr<transport::Listener> listener_; // uses the members above
    std::unique_ptr<std::atomic<bool>[]> in_use_;   // one for each lane
};

} // namespace rpmem::target
