// SPDX-License-Identifier: BSD-3-Clause
// The connection of a pool to its replica on the target: the session, its monitor and the lanes.
// They are lost together. NVMe over Fabrics calls this an association. Connection::set_state()
// changes the state:
//
//   logged in  -> half made  create() has succeeded: the target has created the pool
//   logged in  -> opened     open() has succeeded
//   half made  -> in use     commit(); before it, the destructor asks the target to remove the pool
//   opened     -> in use     commit()
#pragma once

#include "common/base/deadline.hpp"
#include "common/statistics/ticks.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/connection/monitor.hpp"
#include "librpmem/connection/route.hpp"
#include "librpmem/lanes/connection_lanes.hpp"
#include "librpmem/session/session.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

struct PoolArguments {
    std::string target;
    std::string pool_set;
    std::byte* address;
    std::size_t size;
    unsigned lanes;      // number that the application asked for
    std::string command; // remote command that starts rpmemd
};

// Facts for the log.
struct ConnectionFacts {
    std::vector<std::string> notes;    // about registered memory; logged at level info
    std::vector<std::string> warnings; // logged at level warning
    std::vector<std::string> notices;  // from the target; logged at level error, the default level
    std::string description;           // provider, device, and why the lanes do not use RDMA
    bool misses_device = false;        // lanes do not use RDMA, although RPMEM_DEVICE asks for it
};

class Connection {
public:
    // The default values are those of a first session. A later one has the TAKEOVER key of
    // generation 0. DEADLINE is for log_in(), open() and connect() together. Without it, only the
    // settings bound each step.
    static Result<std::shared_ptr<Connection>>
    log_in(const PoolArguments& arguments, const Settings& settings, std::uint64_t generation = 0,
           const transport::Secret* takeover = nullptr, std::optional<Deadline> deadline = {});
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Result<wire::CreateResponse> create(const rpmem_pool_attr& attributes);
    Result<wire::OpenResponse> open();
    // Connects the first lane, or all lanes to a target of protocol 0.1. IN_BAND comes from the
    // response to CREATE or OPEN.
    Result<> connect(const wire::InBandAttributes& in_band);
    // Call it when the application has the pool. Without it, the destructor removes a created pool.
    void commit() noexcept { set_state(State::in_use); }
    // Call it before connect(), and only if can_resume(). See Session::takeover_key().
    Result<transport::Secret> takeover_key() const { return session_->takeover_key(); }

    [[nodiscard]] const std::string& host() const { return host_; }
    [[nodiscard]] const ConnectionFacts& facts() const { return facts_; }
    // Returns the time from the start of log_in() to the end of connect().
    [[nodiscard]] std::chrono::milliseconds took() const { return took_; }
    // Returns the length of a tick of statistics::ticks(), measured during took().
    [[nodiscard]] double nanoseconds_of_tick() const { return nanoseconds_of_tick_; }
    [[nodiscard]] bool is_read_only() const { return session_->holds(wire::condition_read_only); }
    // See Session::pool_claim().
    [[nodiscard]] std::optional<wire::PoolClaim> pool_claim() const {
        return session_->pool_claim();
    }
    // Whether the target supports a later generation of the session.
    [[nodiscard]] bool can_resume() const { return session_->agreement().resume; }
    // Whether a lost session is replaced. RPMEM_RECONNECT_TIMEOUT=0 turns that off, unless calls
    // wait.
    [[nodiscard]] bool can_reconnect() const {
        return can_resume() &&
               (settings_.on_loss == OnLoss::wait || settings_.reconnect_timeout.count() > 0);
    }
    // Returns how long a call that has lost its lane waits for the reason.
    [[nodiscard]] std::chrono::milliseconds explanation_time() const;
    [[nodiscard]] Session& session() { return *session_; }
    [[nodiscard]] Monitor& monitor() { return *monitor_; }     // only after connect()
    [[nodiscard]] ConnectionLanes& lanes() { return *lanes_; } // only after connect()
    // ERROR is the failure to connect a lane. Returns the reason if the session is lost. Waits for
    // it for at most explanation_time() if ERROR may be the first sign of the loss.
    [[nodiscard]] std::optional<Error> await_loss(const Error& error);
    // Ends the lanes and asks the target to close the pool. No lane may be used afterwards.
    Result<> close();
    // Ends the session of a lost connection that another one replaces. The lanes remain until
    // their users have released them.
    void cut();
    // Call it in a child made by fork(2). The parent continues to use its own descriptors.
    void release_in_child();

private:
    enum class State { logged_in, half_made, opened, in_use };

    Connection(const PoolArguments& arguments, const Settings& settings,
               std::optional<Deadline> deadline)
        : arguments_(arguments), settings_(settings), deadline_(deadline) {}
    // Returns the time until the deadline, at least 1 ms. Without a deadline it is unlimited.
    [[nodiscard]] std::chrono::milliseconds rest() const;
    [[nodiscard]] std::chrono::milliseconds login_time() const {
        return std::min(settings_.connect_timeout, rest());
    }
    void set_state(State next) { state_ = next; }
    Result<> start_session();
    Result<> introduce(std::uint64_t generation, const transport::Secret* takeover);
    [[nodiscard]] Result<> require_resume() const;
    Result<> choose_provider();
    [[nodiscard]] wire::OpenRequest request() const;
    Result<std::unique_ptr<ConnectionLanes>> connect_lanes(const wire::InBandAttributes& in_band);

    PoolArguments arguments_;
    Settings settings_;
    const statistics::Moment began_ = statistics::moment();
    std::optional<Deadline> deadline_; // of log_in() to connect()
    std::chrono::milliseconds took_{};
    double nanoseconds_of_tick_ = 1;
    State state_ = State::logged_in;
    std::string host_;
    ConnectionFacts facts_;
    std::unique_ptr<Route> route_; // null once the lanes are connected
    std::optional<ProviderChoice> choice_;
    unsigned lane_count_ = 0;     // number to request
    std::size_t inline_size_ = 0; // over libfabric: bytes of data in a message
    std::unique_ptr<Session> session_;
    std::unique_ptr<Monitor> monitor_;
    std::unique_ptr<ConnectionLanes> lanes_; // destroyed first: they use the monitor's descriptor
};

} // namespace rpmem::initiator
