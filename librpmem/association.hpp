// SPDX-License-Identifier: BSD-3-Clause
// What leads from a pool to its copy on the target, and is lost as a whole: the session, what
// watches it, and the lanes. NVMe over Fabrics calls the same an association.
//
//   logged in  -> half made  create(): the target has made the pool
//   logged in  -> opened     open()
//   half made  -> in use     keep(); until then the target is asked to undo create()
//   opened     -> in use     keep()
#pragma once

#include "common/base/deadline.hpp"
#include "common/statistics/ticks.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/lanes/lazy_lanes.hpp"
#include "librpmem/monitor.hpp"
#include "librpmem/route.hpp"
#include "librpmem/session/session.hpp"
#include "librpmem/settings/settings.hpp"

#include <chrono>
#include <cstddef>
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
    unsigned lanes;      // wanted
    std::string command; // that starts the daemon
};

// For the log.
struct AssociationFacts {
    std::vector<std::string> notes;    // how the memory is used
    std::vector<std::string> warnings; // at level warning
    std::vector<std::string> notices;  // of the target, at level error: the user must learn of them
    std::string description;           // provider and device; and if it is not RDMA, why not
    bool misses_device = false; // the user names RDMA devices, and the description leads elsewhere
};

// Of a session that may not be the first one.
struct LoginTerms {
    std::uint64_t generation = 0;
    // The key of the first one, if this one takes over its pool.
    const transport::Secret* takeover = nullptr;
    // When it is given up unless it is connected; nothing: only the settings bound each step.
    std::optional<Deadline> deadline{};
};

class Association {
public:
    static Result<std::shared_ptr<Association>>
    log_in(const PoolArguments& arguments, const Settings& settings, const LoginTerms& terms = {});
    ~Association();
    Association(const Association&) = delete;
    Association& operator=(const Association&) = delete;

    Result<wire::CreateResponse> create(const rpmem_pool_attr& attributes);
    Result<wire::OpenResponse> open();
    // The first lane, or all of them. IN_BAND is of the response.
    Result<> connect(const wire::InBandAttributes& in_band);
    // The application has the pool now. Until then, what was created is undone with this.
    void keep() noexcept { become(State::in_use); }
    // Once, before connect(): see Session::takeover_key().
    Result<transport::Secret> takeover_key() const { return session_->takeover_key(); }

    [[nodiscard]] const std::string& host() const { return host_; }
    [[nodiscard]] const AssociationFacts& facts() const { return facts_; }
    // From the login on, until it was connected.
    [[nodiscard]] std::chrono::milliseconds took() const { return took_; }
    // Of statistics::ticks(), as measured in that time.
    [[nodiscard]] double nanoseconds_of_tick() const { return nanoseconds_of_tick_; }
    [[nodiscard]] bool is_read_only() const { return session_->holds(wire::condition_read_only); }
    // A later generation can take its place.
    [[nodiscard]] bool can_resume() const { return session_->agreement().resume; }
    // And the user lets it.
    [[nodiscard]] bool can_reconnect() const {
        return can_resume() && settings_.reconnect_timeout.count() > 0;
    }
    // How long a lane that is lost waits for why.
    [[nodiscard]] std::chrono::milliseconds explanation_time() const;
    [[nodiscard]] Session& session() { return *session_; }
    [[nodiscard]] Monitor& monitor() { return *monitor_; } // from connect() on
    [[nodiscard]] LazyLanes& lanes() { return *lanes_; }   // likewise
    // Why the session is lost, if that is why ERROR came of connecting a lane.
    [[nodiscard]] std::optional<Error> loss_behind(const Error& error);
    // Ends the lanes, and has the target close the pool. Nothing else may be done then.
    Result<> close();
    // It is lost, and another takes its place. Its lanes stay until their users have left them.
    void cut();
    // In a child made by fork(2).
    void release_in_child();

private:
    enum class State { logged_in, half_made, opened, in_use };

    Association(const PoolArguments& arguments, const Settings& settings,
                std::optional<Deadline> deadline)
        : arguments_(arguments), settings_(settings), deadline_(deadline) {}
    // How long the next step may take.
    [[nodiscard]] std::chrono::milliseconds rest() const;
    [[nodiscard]] std::chrono::milliseconds login_time() const {
        return std::min(settings_.connect_timeout, rest());
    }
    void become(State next) { state_ = next; }
    Result<> start_session();
    Result<> introduce(std::uint64_t generation, const transport::Secret* takeover);
    Result<> choose_provider();
    [[nodiscard]] wire::OpenRequest request() const;
    Result<std::unique_ptr<LazyLanes>> connect_lanes(const wire::InBandAttributes& in_band);
    [[nodiscard]] bool sees_loss() const noexcept;

    PoolArguments arguments_;
    Settings settings_;
    const statistics::Moment began_ = statistics::moment();
    std::optional<Deadline> deadline_; // until it is connected
    std::chrono::milliseconds took_{};
    double nanoseconds_of_tick_ = 1;
    State state_ = State::logged_in;
    std::string host_;
    AssociationFacts facts_;
    std::unique_ptr<Route> route_; // until the lanes are connected
    std::optional<ProviderChoice> choice_;
    unsigned lane_count_ = 0;     // to ask for
    std::size_t inline_size_ = 0; // bytes in a message, over fabrics
    std::unique_ptr<Session> session_;
    std::unique_ptr<Monitor> monitor_;
    std::unique_ptr<LazyLanes> lanes_; // they use the monitor's descriptor: goes first
};

} // namespace rpmem::initiator
