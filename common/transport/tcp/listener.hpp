// SPDX-License-Identifier: BSD-3-Clause
// The listener of a target: the listening sockets and the unauthenticated connections. One thread
// uses it. All memory for unauthenticated connections is allocated at the start. The states of such
// a connection:
//
//   state         | next          | when
//   free          | first         | a connection was accepted
//   first         | shaking_hands | its first message is valid, and lanes use TLS
//   first         | third         | its first message is valid, and lanes do not use TLS
//   shaking_hands | third         | the TLS handshake is complete
//   any           | free          | it was authenticated and passed to the owner, or it ended
#pragma once

#include "common/base/unique_fd.hpp"
#include "common/transport/lane_auth_ends.hpp"
#include "common/transport/pending_connections.hpp"
#include "common/transport/tls/tls_stream.hpp"
#include "common/wire/lane_rules.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::transport {

struct PortRange {
    std::uint16_t first = 0; // if both are 0, the kernel chooses a port
    std::uint16_t last = 0;
};

struct ListenOptions {
    std::vector<std::string> addresses; // numeric; the first must work, the others may fail
    PortRange ports{};
    std::chrono::milliseconds peer_timeout;
};

// The owner of a listener receives the authenticated lanes.
class LaneOwner {
public:
    virtual ~LaneOwner() = default;
    // Returns nothing to admit the lane, or why it is refused.
    virtual std::optional<Refused> admit(const LaneIdentity& identity) = 0;
    // Passes a lane to the owner, after its welcome with CREDITS. If the welcome could not be sent,
    // the sending direction of STREAM is closed.
    virtual void take(const LaneIdentity& identity, std::unique_ptr<Stream> stream,
                      std::string name, const wire::LaneCredits& credits) = 0;
};

class Listener {
public:
    using Time = PendingConnections::Time;

    // Fails with EADDRINUSE if no port of the range is free.
    [[nodiscard]] static Result<std::unique_ptr<Listener>> listen(const ListenOptions& options,
                                                                  Random& random);
    // Refuses the known connections, because the session ends.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Returns why addresses after the first could not be used.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
    // The descriptor is readable when handle() has work.
    [[nodiscard]] int fd() const { return epoll_.get(); }
    // Returns when to call handle() at the latest, even if fd() is not readable.
    [[nodiscard]] std::optional<Time> deadline() const;
    // Processes the events. SESSION and TLS must be the same in each call. TLS is null if lanes do
    // not use it.
    void handle(const ProofSession& session, const TlsContext* tls, LaneOwner& owner, Time now);
    // Returns how many connections have ended without becoming lanes since the last call. The
    // number is for the log.
    [[nodiscard]] unsigned take_ended() { return std::exchange(ended_, 0U); }

private:
    struct PendingConnection {
        enum class State { free, first, shaking_hands, third };
        State state = State::free;
        UniqueFd socket;                  // moves into tls
        std::unique_ptr<TlsStream> tls;   // after a valid first message, if lanes use TLS
        std::optional<TargetProof> proof; // unless the state is free

        void enter(State next) { state = next; }
        [[nodiscard]] int fd() const { return tls ? tls->fd() : socket.get(); }
        ssize_t receive(std::span<std::byte> place);
        bool send(ByteView bytes);
    };
    using State = PendingConnection::State;

    Listener(const ListenOptions& options, Random& random)
        : peer_timeout_(options.peer_timeout), random_(random) {}
    Result<> open(const ListenOptions& options);
    Result<> bind(const std::string& address, PortRange ports);
    void set_paused(std::optional<Time> until);
    void accept_from(int socket, const ProofSession& session, LaneOwner& owner, Time now);
    void advance(PendingConnections::Id id, LaneOwner& owner, Time now);
    ProofStep admit(PendingConnections::Id id, ByteView behind_first, Time now);
    ProofStep exchange_hello(PendingConnection& pending);
    void welcome(PendingConnection& pending, LaneOwner& owner);
    void end(PendingConnection& pending, const ProofStep& last_step);

    std::chrono::milliseconds peer_timeout_;
    Random& random_;
    const TlsContext* tls_ = nullptr;
    UniqueFd epoll_;
    std::vector<UniqueFd> sockets_;
    std::uint16_t port_ = 0;
    std::vector<std::string> warnings_;
    std::array<PendingConnection, max_silent + max_known + 1> pending_;
    PendingConnections slots_;
    std::optional<Time> paused_until_; // set after accept(2) ran out of descriptors
    unsigned ended_ = 0;
};

} // namespace rpmem::transport
