// SPDX-License-Identifier: BSD-3-Clause
// A session has at most one pool, and the lanes that lead to it. Session::become() changes the
// state of the pool:
//   none    -> opened   open() has it; nothing removes it but close(true)
//   none    -> created  create() has made it; it is removed again if its lanes never come up
//   opened  -> closed   close(), or it cannot be served
//   created -> closed   likewise
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/log.hpp"
#include "common/wire/control_messages.hpp"
#include "rpmemd/durability/fault_handler.hpp"
#include "rpmemd/handshake.hpp"
#include "rpmemd/lanes/fabric_listener.hpp"
#include "rpmemd/lanes/lane_server.hpp"
#include "rpmemd/pools/store.hpp"
#include "rpmemd/registry/registration.hpp"
#include "rpmemd/request_check.hpp"
#include "rpmemd/request_refusal.hpp"
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

// The addresses of the connection, from sshd (SSH_CONNECTION, see ssh(1)); empty: not known.
struct SessionAddresses {
    std::string own; // on which the client arrived
    std::string client;
};

class Session {
public:
    // PEER_GONE: the channel has ended, so that nobody waits for what is being done.
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
    // When the peer must have connected all lanes; far away otherwise.
    [[nodiscard]] int milliseconds_to_connect() const;
    [[nodiscard]] std::chrono::milliseconds accept_timeout() const {
        return configuration_.accept_timeout;
    }
    [[nodiscard]] const rpmem_pool_attr& attributes() const { return pool_->attributes(); }

    // Why the session must end now, if the medium of its pool has failed; there when
    // LaneServer::failure() tells of it, and when a request is refused for it.
    [[nodiscard]] std::optional<MediumFailure> medium_failure() const {
        return pool_ ? pool_->medium_failure() : failures_.failure();
    }
    // Readable when the file of a part has been changed by other means than its mapping; -1: there
    // is no such thing.
    [[nodiscard]] int change_fd() const { return changes_.get(); }
    void look_at_parts() const;

    // Before create() and open(), if it was agreed on; once.
    Granted<> log_in(const wire::LoginRequest& request);
    // Each returns the in-band attributes, or why the request is refused; then nothing is left.
    Granted<wire::InBandAttributes> create(const wire::CreateRequest& asked);
    Granted<wire::InBandAttributes> open(const PoolRequest& request);
    // Once one of them is about to be answered: lanes prove that they know REQUEST and RESPONSE, as
    // they cross the channel.
    Result<> secure_lanes(std::span<const std::byte> request, std::span<const std::byte> response);
    Granted<> set_attributes(const rpmem_pool_attr& attributes);
    Granted<> close(bool remove);

    // Something was heard of the initiator.
    void seen() { registration_.seen(); }
    // Notices for the initiator since the last ones.
    [[nodiscard]] std::vector<std::string> take_notices() { return registration_.take_notices(); }

private:
    enum class State { none, opened, created, closed };

    void become(State next) { state_ = next; }
    [[nodiscard]] Granted<> check(const PoolRequest& request) const;
    Granted<> enter(const Owner& owner, InitiatorName initiator);
    Granted<> enter_unnamed();
    Granted<> write_down(const PoolRequest& request);
    [[nodiscard]] Error explain(Error error, const PoolRequest& request) const;
    [[nodiscard]] std::filesystem::path path_of(const PoolRequest& request) const;
    Granted<wire::InBandAttributes> take_up(Result<Pool> pool, State state,
                                            const PoolRequest& request);
    Granted<wire::InBandAttributes> serve(const PoolRequest& request);
    // IN_ORDER: by CLOSE.
    Result<> end_pool(bool remove, bool in_order);
    void guard_memory();
    [[nodiscard]] Granted<> check_confinement(wire::Provider provider) const;
    [[nodiscard]] Granted<> confine(wire::Provider provider);
    [[nodiscard]] PoolAccess access() const;
    [[nodiscard]] wire::PersistMethod persist_method(wire::Provider provider) const;
    [[nodiscard]] StoreOptions store_options();
    Result<std::unique_ptr<LaneServer>> start_lanes(const PoolRequest& request);
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
    FailureLatch failures_;             // while there is no pool
    std::unique_ptr<LaneServer> lanes_; // uses the pool's memory: goes first
    std::optional<FaultGuard> fault_guard_;
    UniqueFd changes_; // inotify(7)
    State state_ = State::none;
    std::uint64_t generation_ = 0; // see wire::LoginRequest
    std::string initiator_;        // its host, or its address
    Registration registration_;
    std::optional<Deadline> connect_deadline_;
};

} // namespace rpmem::target
