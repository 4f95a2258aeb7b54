// SPDX-License-Identifier: BSD-3-Clause
// Where lanes arrive at the target: sockets that listen, and connections that have not yet shown
// who they are. Used by one thread; all memory for strangers is taken when it is made. One of them:
//
//   state         | next          | when
//   free          | first         | a connection has been accepted
//   first         | shaking_hands | its first message is right and lanes use TLS
//   first         | third         | its first message is right and they do not
//   shaking_hands | third         | TLS has begun
//   each          | free          | it has proven itself and is its owner's, or it was ended
#pragma once

#include "common/base/unique_fd.hpp"
#include "common/transport/proof_ends.hpp"
#include "common/transport/tls/tls_stream.hpp"
#include "common/transport/unproven_slots.hpp"
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
    std::uint16_t first = 0; // 0 and 0: the kernel chooses
    std::uint16_t last = 0;
};

struct ListenOptions {
    std::vector<std::string> addresses; // numbers; the first must do, the others may fail
    PortRange ports{};
    std::chrono::milliseconds peer_timeout;
};

// The listener's owner, which receives the lanes that have proven themselves.
class LaneOwner {
public:
    virtual ~LaneOwner() = default;
    // Whether the lane may come in; nothing: it may, and gets CREDITS.
    virtual std::optional<Refused> admit(const LaneIdentity& identity) = 0;
    // It is open: it has been welcomed.
    virtual void take(const LaneIdentity& identity, std::unique_ptr<Stream> stream,
                      std::string name, const wire::LaneCredits& credits) = 0;
};

class Listener {
public:
    using Time = UnprovenSlots::Time;

    // EADDRINUSE: no port of the range is free.
    [[nodiscard]] static Result<std::unique_ptr<Listener>> listen(const ListenOptions& options,
                                                                  Random& random);
    // Those that are known are told that the session ends.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // Of further addresses: why nothing listens there.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
    // Readable when handle() has something to do.
    [[nodiscard]] int fd() const { return epoll_.get(); }
    // Until handle() has something to do though fd() is not readable.
    [[nodiscard]] std::optional<Time> deadline() const;
    // Takes in what has come. SESSION stays the same, and so does TLS; null: lanes go without.
    void handle(const ProofSession& session, const TlsContext* tls, LaneOwner& owner, Time now);
    // Since the last call: for the log.
    [[nodiscard]] unsigned take_ended() { return std::exchange(ended_, 0U); }

private:
    struct UnprovenConnection {
        enum class State { free, first, shaking_hands, third };
        State state = State::free;
        UniqueFd socket;                  // until TLS has it
        std::unique_ptr<TlsStream> tls;   // from a right first message on, if lanes use it
        std::optional<TargetProof> proof; // but while it is free

        void enter(State next) { state = next; }
        [[nodiscard]] int fd() const { return tls ? tls->fd() : socket.get(); }
        ssize_t receive(std::span<std::byte> place);
        bool send(ByteView bytes);
    };
    using State = UnprovenConnection::State;

    Listener(const ListenOptions& options, Random& random)
        : peer_timeout_(options.peer_timeout), random_(random) {}
    Result<> open(const ListenOptions& options);
    Result<> bind(const std::string& address, PortRange ports);
    void set_paused(std::optional<Time> until);
    void accept_from(int socket, const ProofSession& session, LaneOwner& owner, Time now);
    void advance(UnprovenSlots::Id id, LaneOwner& owner, Time now);
    ProofStep admit(UnprovenSlots::Id id, ByteView behind_first, Time now);
    ProofStep exchange_hello(UnprovenConnection& stranger);
    void welcome(UnprovenConnection& stranger, LaneOwner& owner);
    void end(UnprovenConnection& stranger, const ProofStep& last_words);

    std::chrono::milliseconds peer_timeout_;
    Random& random_;
    const TlsContext* tls_ = nullptr;
    UniqueFd epoll_;
    std::vector<UniqueFd> sockets_;
    std::uint16_t port_ = 0;
    std::vector<std::string> warnings_;
    std::array<UnprovenConnection, max_silent + max_known + 1> strangers_;
    UnprovenSlots slots_;
    std::optional<Time> paused_until_; // descriptors have run out
    unsigned ended_ = 0;
};

} // namespace rpmem::transport
