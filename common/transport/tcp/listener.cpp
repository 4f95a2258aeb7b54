// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tcp/listener.hpp"

#include "common/base/host_address.hpp"
#include "common/transport/tcp/stream.hpp"
#include "common/wire/frame.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace rpmem::transport {
namespace {

// The epoll data of a listening socket is this plus its index. That of an accepted connection is
// its index.
constexpr std::uint64_t listens = std::uint64_t{1} << 32;

// Maximum number of connections that are accepted before others are served.
constexpr int max_at_once = 64;
constexpr std::size_t max_arrivals = 64;

// How long nothing is accepted after descriptors or memory ran out. New connections wait in the
// backlog.
constexpr std::chrono::milliseconds pause_without_descriptors(100);

// The credits of a lane, see docs/transport.md. An initiator can fill the receive buffer while the
// medium stalls. The kernel allocates memory only for bytes that have arrived.
constexpr int receive_buffer = 4 << 20; // bytes
constexpr std::uint32_t max_frames = 256;
constexpr std::uint32_t payload_unit = 4096;

wire::LaneCredits credits_of(int socket) {
    const std::uint32_t bytes = credit_bytes(socket, receive_buffer);
    return {.bytes = bytes,
            .payload = (bytes / 2 - static_cast<std::uint32_t>(wire::frame_header_size)) /
                       payload_unit * payload_unit,
            .frames = max_frames,
            .reads = static_cast<std::uint32_t>(wire::max_reads)};
}

// The port has the same offset in sockaddr_in and sockaddr_in6.
std::uint16_t port_of(const sockaddr_storage& name) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

// Returns the address of the peer without its zone. Looking up the name of an interface needs a
// socket, which a confined daemon cannot open.
std::string name_of_peer(int socket) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    auto* const generic = reinterpret_cast<sockaddr*>(&peer);
    if (::getpeername(socket, generic, &size) != 0)
        return "a peer";
    return fmt::format("{} port {}", text_of(address_of(generic)), port_of(peer));
}

bool send_all(int socket, ByteView bytes) {
    return bytes.empty() ||
           ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
               static_cast<ssize_t>(bytes.size());
}

} // namespace

Result<std::unique_ptr<Listener>> Listener::listen(const ListenOptions& options, Random& random) {
    std::unique_ptr<Listener> listener(new Listener(options, random));
    RPMEM_TRY(listener->open(options));
    return listener;
}

Listener::~Listener() {
    for (PendingConnection& each : pending_)
        if (each.state == State::shaking_hands || each.state == State::third)
            end(each, each.proof->refuse(RefusalCode::ending));
}

Result<> Listener::open(const ListenOptions& options) {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make an epoll descriptor");
    for (const std::string& address : options.addresses) {
        const bool is_first = sockets_.empty() && warnings_.empty();
        const PortRange same{port_, port_};
        auto bound = bind(address, is_first ? options.ports : same);
        if (!bound && is_first)
            return bound;
        if (!bound)
            warnings_.push_back(std::move(bound).error().text);
    }
    return {};
}

// Listens on the first free port of PORTS.
Result<> Listener::bind(const std::string& address, PortRange ports) {
    int code = EADDRINUSE;
    for (unsigned port = ports.first; port <= ports.last && code == EADDRINUSE; ++port) {
        RPMEM_ASSIGN(const AddressList found,
                     in_context("cannot listen at " + address,
                                look_up_number(address, std::to_string(port), AI_PASSIVE)));
        UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (!socket)
            return fail_errno(ErrorClass::resource_limit, errno,
                              "cannot make a socket to listen at {}", address);
        // Connections of a session that has just ended may still use a port of a small range.
        const int on = 1;
        static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
        sockaddr_storage name{};
        socklen_t size = sizeof(name);
        if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
            ::listen(socket.get(), SOMAXCONN) != 0 ||
            ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
            code = errno;
            continue;
        }
        port_ = port_of(name);
        epoll_event event{.events = EPOLLIN, .data = {.u64 = listens + sockets_.size()}};
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0)
            return fail_errno(ErrorClass::resource_limit, errno, "cannot wait for lanes (epoll)");
        sockets_.push_back(std::move(socket));
        return {};
    }
    return fail_errno(ErrorClass::resource_limit, code, "cannot listen at {} on ports {} to {}",
                      address, ports.first, ports.last);
}

std::optional<Listener::Time> Listener::deadline() const {
    const auto of_slots = slots_.deadline();
    if (!paused_until_ || !of_slots)
        return paused_until_ ? paused_until_ : of_slots;
    return std::min(*paused_until_, *of_slots);
}

void Listener::set_paused(std::optional<Time> until) {
    paused_until_ = until;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        epoll_event event{.events = until ? 0U : EPOLLIN, .data = {.u64 = listens + i}};
        static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, sockets_[i].get(), &event));
    }
}

ssize_t Listener::PendingConnection::receive(std::span<std::byte> place) {
    const iovec whole{place.data(), place.size()};
    if (tls)
        return tls->receive({&whole, 1});
    const ssize_t got = ::recv(socket.get(), place.data(), place.size(), 0);
    return got < 0 ? -errno : got;
}

// Returns false if BYTES cannot be sent at once, although they fit into the send buffer of a new
// socket.
bool Listener::PendingConnection::send(ByteView bytes) {
    if (!tls)
        return send_all(socket.get(), bytes);
    const iovec whole{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return bytes.empty() ||
           (tls->send({&whole, 1}, false) == static_cast<ssize_t>(bytes.size()) && !tls->pending());
}

void Listener::handle(const ProofSession& session, const TlsContext* tls, LaneOwner& owner,
                      Time now) {
    tls_ = tls;
    if (paused_until_ && now >= *paused_until_)
        set_paused(std::nullopt);
    while (const auto expired = slots_.expired(now)) {
        PendingConnection& pending = pending_[expired->id];
        end(pending, expired->known ? pending.proof->refuse(RefusalCode::too_late) : ProofStep{});
    }
    std::array<epoll_event, max_arrivals> events;
    const int found = ::epoll_wait(epoll_.get(), events.data(), max_arrivals, 0);
    for (int i = 0; i < found; ++i) {
        const std::uint64_t what = events[static_cast<std::size_t>(i)].data.u64;
        if (what >= listens)
            accept_from(sockets_[what - listens].get(), session, owner, now);
        else if (pending_[what].state != State::free) // it may have ended since epoll_wait(2)
            advance(what, owner, now);
    }
}

void Listener::accept_from(int socket, const ProofSession& session, LaneOwner& owner, Time now) {
    for (int i = 0; i < max_at_once; ++i) {
        UniqueFd arrived(::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!arrived) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                set_paused(now + pause_without_descriptors);
            if (errno != ECONNABORTED && errno != EINTR)
                return;
            continue;
        }
        // A place is always free, because there is one more than there are slots.
        const auto place = std::ranges::find(pending_, State::free, &PendingConnection::state);
        const auto id = static_cast<PendingConnections::Id>(place - pending_.begin());
        if (const auto evicted = slots_.arrived(id, now))
            end(pending_[*evicted], {});
        prepare_lane_socket(arrived.get(), peer_timeout_);
        epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
        place->socket = std::move(arrived);
        place->proof.emplace(session, wire::Provider::tcp);
        place->enter(State::first);
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, place->socket.get(), &event) != 0) {
            slots_.left(id);
            end(*place, {});
            continue;
        }
        advance(id, owner, now); // the first message of a genuine lane has arrived already
    }
}

// Passes received bytes to the handshake, and sends its response.
void Listener::advance(PendingConnections::Id id, LaneOwner& owner, Time now) {
    PendingConnection& pending = pending_[id];
    ProofStep step{.state = ProofState::known};
    bool goes_on = true;
    if (pending.state == State::shaking_hands) {
        step = exchange_hello(pending);
    } else {
        std::array<std::byte, first_message_size> bytes;
        const ssize_t got = pending.receive(bytes);
        if (got == -EAGAIN || got == -EINTR)
            return;
        const ByteView came = ByteView(bytes).first(got > 0 ? static_cast<std::size_t>(got) : 0);
        step = pending.proof->advance(came);
        const ByteView behind = came.subspan(step.taken);
        // An initiator waits for each response, so more bytes are invalid. Only TLS follows the
        // first message at once.
        goes_on = got > 0 && (behind.empty() || (tls_ && step.state == ProofState::known));
        if (goes_on && step.state == ProofState::known)
            step = admit(id, behind, now);
    }
    if (goes_on && step.state == ProofState::proven) {
        slots_.left(id);
        return welcome(pending, owner);
    }
    if (goes_on && step.state != ProofState::refused && pending.send(step.send))
        return;
    slots_.left(id);
    end(pending, step.state == ProofState::refused ? step : ProofStep{});
}

// Finds a slot for a connection whose first message was valid. BEHIND_FIRST are the bytes of TLS
// that arrived with that message.
ProofStep Listener::admit(PendingConnections::Id id, ByteView behind_first, Time now) {
    PendingConnection& pending = pending_[id];
    const auto admission = slots_.recognised(id, now);
    if (admission.ended)
        end(pending_[*admission.ended],
            pending_[*admission.ended].proof->refuse(RefusalCode::too_late));
    if (!admission.admitted)
        return pending.proof->refuse(RefusalCode::busy);
    if (!tls_) {
        pending.enter(State::third);
        return pending.proof->accept(random_);
    }
    auto stream = TlsStream::make(*tls_, std::make_unique<SocketStream>(std::move(pending.socket)),
                                  fmt::format("lane {}", pending.proof->identity().lane));
    if (!stream || !(*stream)->give(behind_first))
        return {.state = ProofState::refused};
    pending.tls = std::move(*stream);
    pending.enter(State::shaking_hands);
    return exchange_hello(pending);
}

// Continues the TLS handshake. While it lasts, the result is `known` with nothing to send. If it
// has failed, the result is `refused` with nothing to send.
ProofStep Listener::exchange_hello(PendingConnection& pending) {
    switch (pending.tls->advance()) {
    case TlsStep::wants_read:
        return {.state = ProofState::known};
    case TlsStep::done:
        pending.enter(State::third);
        return pending.proof->accept(random_, pending.tls->exporter());
    case TlsStep::wants_write: // a failure: a handshake fits into the send buffer of a new socket
    case TlsStep::failed:
        break;
    }
    return {.state = ProofState::refused};
}

void Listener::welcome(PendingConnection& pending, LaneOwner& owner) {
    const LaneIdentity identity = pending.proof->identity();
    if (const auto refused = owner.admit(identity))
        return end(pending, pending.proof->refuse(refused->why, refused->number));
    const int socket = pending.fd();
    const wire::LaneCredits credits = credits_of(socket);
    // If this fails, the owner sees the lane end like any other, and the initiator retries.
    if (!pending.send(wire::encode_welcome(credits)))
        static_cast<void>(::shutdown(socket, SHUT_WR));
    static_cast<void>(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr));
    pending.proof.reset();
    pending.enter(State::free);
    std::string name = fmt::format("lane {} of {}", identity.lane, name_of_peer(socket));
    std::unique_ptr<Stream> stream = std::move(pending.tls);
    if (!stream)
        stream = std::make_unique<SocketStream>(std::move(pending.socket), PieceCall::writev);
    owner.take(identity, std::move(stream), std::move(name), credits);
}

// Sends the bytes of LAST_STEP and closes the connection. Resets it if there are no bytes to send.
void Listener::end(PendingConnection& pending, const ProofStep& last_step) {
    ++ended_;
    if (!last_step.send.empty())
        static_cast<void>(pending.send(last_step.send));
    else if (pending.tls)
        pending.tls->reset();
    else
        SocketStream(std::move(pending.socket)).reset();
    pending.tls.reset();
    pending.socket.reset();
    pending.proof.reset();
    pending.enter(State::free);
}

} // namespace rpmem::transport
