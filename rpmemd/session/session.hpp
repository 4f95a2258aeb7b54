// SPDX-License-Identifier: BSD-3-Clause
// A session, which has at most one pool and its lanes. States of the pool:
//   none    -> opened   open(); only close(true) removes the pool
//   none    -> created  create(); the destructor removes the pool if its lanes never connected
//   opened  -> closed   close(), the destructor, or the pool cannot be served
//   created -> closed   likewise
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/log.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/unsolicited.hpp"
#include "rpmemd/durability/fault_handler.hpp"
#include "rpmemd/lanes/fabric_listener.hpp"
#include "rpmemd/lanes/lane_server.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/registry/registration.hpp"
#include "rpmemd/session/handshake.hpp"
#include "rpmemd/session/request_check.hpp"
#include "rpmemd/session/request_refusal.hpp"
#include "rpmemd/settings/configuration.hpp"
#include "rpmemd/statistics/session_statistics.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// The addresses of the ssh connection, from SSH_CONNECTION, see ssh(1). Empty if unknown.
struct SessionAddresses {
    std::string own; // the local address
    std::string client;
};

class Session {
public:
    // PEER_GONE returns whether the control channel has ended, so that nobody waits for a response.
    Session(const Configuration& configuration, const SessionAddresses& addresses,
            HandshakeResult handshake, std::function<bool()> peer_gone,
            SessionStatistics& statistics, Log& log)
        : configuration_(configuration), own_address_(addresses.own),
          client_address_(addresses.client), agreement_(handshake.agreement),
          transcript_(std::move(handshake.transcript)), peer_gone_(std::move(peer_gone)),
          statistics_(statistics), log_(log),
          registration_(configuration.state_dir, configuration.read_only, log) {}
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] bool has_pool() const { return pool_.has_value(); }
    [[nodiscard]] LaneServer* lanes() const { return lanes_.get(); }
    // Returns the time that is left for the peer to connect its first lanes, or INT_MAX if nothing
    // is awaited.
    [[nodiscard]] int milliseconds_to_connect() const;
    [[nodiscard]] std::chrono::milliseconds accept_timeout() const {
        return configuration_.accept_timeout;
    }
    [[nodiscard]] const rpmem_pool_attr& attributes() const { return pool_->attributes(); }

    // Returns the failure of the medium, after which the session must end. It is set before
    // LaneServer::failure() reports it, and before a request is refused for it.
    [[nodiscard]] std::optional<MediumFailure> medium_failure() const {
        return pool_ ? pool_->medium_failure() : failures_.failure();
    }
    // The descriptor is readable after the file of a part was changed other than through its
    // mapping. It is -1 before a pool is open, and if there is no inotify instance left.
    [[nodiscard]] int change_fd() const { return changes_.get(); }
    // Checks whether parts were truncated or removed, see Medium::look_at_files().
    void look_at_parts() const;
    // Returns whether the session is read-only and a process waits to open its pool for writing.
    [[nodiscard]] bool must_give_way() const {
        return configuration_.read_only && pool_ && pool_->is_wanted();
    }
    [[nodiscard]] bool is_read_only() const { return configuration_.read_only; }

    // Call it once before create() and open(), if both ends support LOGIN.
    Result<> log_in(const wire::LoginRequest& request);
    // Return the in-band attributes, or why the request is refused. A refused request changes no
    // pool.
    Result<wire::InBandAttributes> create(const wire::CreateRequest& asked);
    Result<wire::InBandAttributes> open(const PoolRequest& request);
    // Call it before the response to CREATE or OPEN is sent. The handshake of the lanes covers the
    // bytes of REQUEST and RESPONSE.
    Result<> secure_lanes(std::span<const std::byte> request, std::span<const std::byte> response);
    Result<> set_attributes(const rpmem_pool_attr& attributes);
    // Before in_sync, the initiator must have drained its lanes, so that all bytes are durable.
    Result<> set_replica_state(wire::ReplicaState state);
    Result<> close(bool remove);

    // Returns the unsolicited message about the record of the pool that precedes the response to
    // CREATE or OPEN: PoolClaim in a read-only session, otherwise PoolState. Empty if the ends have
    // not agreed on it, or the record is unknown.
    [[nodiscard]] wire::Bytes report_on_pool() const;

    // Call it when a message from the initiator has arrived.
    void seen() { registration_.seen(); }
    // Returns the notices for the initiator since the last call.
    [[nodiscard]] std::vector<std::string> take_notices() { return registration_.take_notices(); }

private:
    enum class State { none, opened, created, closed };

    void set_state(State next) { state_ = next; }
    [[nodiscard]] Result<> check(const PoolRequest& request) const;
    Result<> enter(const Owner& owner, InitiatorName initiator);
    Result<> enter_unnamed();
    Result<> record(const PoolRequest& request);
    [[nodiscard]] Error explain(Error error, const PoolRequest& request) const;
    [[nodiscard]] std::filesystem::path path_of(const PoolRequest& request) const;
    Result<wire::InBandAttributes> adopt(Result<Pool> pool, State state,
                                         const PoolRequest& request);
    Result<wire::InBandAttributes> serve(const PoolRequest& request);
    // IN_ORDER states that CLOSE ends the session.
    Result<> end_pool(bool remove, bool in_order);
    void guard_memory();
    [[nodiscard]] Result<> check_confinement(wire::Provider provider) const;
    [[nodiscard]] Result<> confine(wire::Provider provider);
    [[nodiscard]] PoolAccess access() const;
    [[nodiscard]] wire::PersistMethod persist_method(wire::Provider provider) const;
    [[nodiscard]] PoolOptions pool_options();
    Result<std::unique_ptr<LaneServer>> start_lanes(const PoolRequest& request);
    [[nodiscard]] std::uint64_t unchanged_for() const; // milliseconds, for wire::PoolState
    void warn_about(wire::Provider provider) const;
    void log_policy(wire::Provider provider, wire::PersistMethod method) const;

    const Configuration& configuration_;
    std::string own_address_;
    std::string client_address_;
    wire::Agreement agreement_;
    std::optional<transport::ControlTranscript> transcript_;
    std::function<bool()> peer_gone_;
    SessionStatistics& statistics_;
    Log& log_;
    std::optional<Pool> pool_;
    FailureLatch failures_;             // failures of the medium while there is no pool
    std::unique_ptr<LaneServer> lanes_; // uses the memory of the pool, so it is destroyed first
    std::optional<FaultGuard> fault_guard_;
    UniqueFd changes_; // inotify(7)
    State state_ = State::none;
    std::uint64_t generation_ = 0; // see wire::LoginRequest
    std::string initiator_;        // host name or address
    Registration registration_;
    std::optional<Deadline> connect_deadline_;
};

} // namespace rpmem::target
