// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/tcp_lane_server.hpp"

#include "common/transport/crypto.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"

#include <cerrno>

namespace rpmem::target {
namespace {

using transport::RefusalCode;
using transport::Refused;

// Size of a worker's buffer for one receive call. It fits into the L2 cache.
constexpr std::size_t receive_buffer_size = std::size_t{256} * 1024;

// Uses OpenSSL once, because it reads its files on first use, and a confined session cannot.
Result<> prepare_openssl(bool tls) {
    RPMEM_ASSIGN(auto none, transport::Secret::make());
    transport::Digest digest{};
    if (!transport::hkdf_sha256(none.bytes(), "", none.bytes()) ||
        !transport::hmac_sha256(none.bytes(), {}, digest))
        return fail(ErrorClass::resource_limit, ENOMEM, "OpenSSL has no memory");
    if (!tls)
        return {};
    RPMEM_TRY(transport::TlsContext::make(transport::TlsRole::target, none));
    return {};
}

} // namespace

Result<std::unique_ptr<LaneServer>> TcpLaneServer::start(const TcpServerOptions& options,
                                                         std::span<std::byte> pool,
                                                         const Medium& medium, Log log) {
    RPMEM_ASSIGN(auto failed, Event::make());
    std::unique_ptr<TcpLaneServer> server(
        new TcpLaneServer(options, pool, medium, std::move(failed), std::move(log)));
    RPMEM_TRY(server->set_up());
    return server;
}

Result<> TcpLaneServer::set_up() {
    RPMEM_TRY(prepare_openssl(options_.tls));
    const unsigned count = count_workers(options_.workers, options_.lanes);
    for (unsigned i = 0; i < count; ++i)
        RPMEM_TRY(add_worker(
            std::make_unique<transport::SocketGroup>(options_.spin_time, receive_buffer_size)));
    RPMEM_ASSIGN(listener_, transport::Listener::listen({.addresses = options_.addresses,
                                                         .ports = options_.ports,
                                                         .peer_timeout = options_.peer_timeout},
                                                        random_));
    for (const std::string& warning : listener_->warnings())
        log_.warning("no lanes are served at a further address: {}", warning);
    return {};
}

// Stops listening, and then ends the workers before the members that they use are destroyed.
TcpLaneServer::~TcpLaneServer() {
    listener_.reset();
    workers_.clear();
}

Result<> TcpLaneServer::secure(transport::ProofSession session) {
    RPMEM_TRY(LaneServer::secure(std::move(session)));
    if (!options_.tls)
        return {};
    RPMEM_ASSIGN(auto tls,
                 transport::TlsContext::make(transport::TlsRole::target, session_->keys.tls));
    tls_.emplace(std::move(tls));
    return {};
}

Result<> TcpLaneServer::handle_events() {
    if (session_)
        listener_->handle(*session_, tls_ ? &*tls_ : nullptr, *this,
                          std::chrono::steady_clock::now());
    if (const unsigned ended = listener_->take_ended(); ended > 0)
        log_.warning("ended {} connections that did not become lanes", ended);
    return {};
}

Result<> TcpLaneServer::wait(std::span<pollfd> fds, std::chrono::milliseconds limit) {
    return wait_until(listener_->deadline(), fds, limit);
}

std::optional<Refused> TcpLaneServer::admit(const transport::LaneIdentity& identity) {
    if (!may_accept())
        return Refused{.why = RefusalCode::no_resources};
    if (in_use_[identity.lane].exchange(true))
        return Refused{.why = RefusalCode::lane_in_use};
    // Count the lane before the welcome. The welcome may complete rpmem_create(), and then the pool
    // must not be removed, even if this process has no memory for the lane.
    ++connected_;
    return std::nullopt;
}

void TcpLaneServer::take(const transport::LaneIdentity& identity,
                         std::unique_ptr<transport::Stream> stream, std::string name,
                         const wire::LaneCredits& credits) {
    log_.debug("{} is connected", name);
    static_cast<void>(
        serve(identity.lane,
              std::make_unique<transport::FrameConnection>(std::move(stream), std::move(name)),
              credits, false));
}

// Runs in the thread of a worker.
void TcpLaneServer::lane_ended(unsigned lane, const std::string& how, std::string error_text) {
    in_use_[lane] = false;
    LaneServer::lane_ended(lane, how, std::move(error_text));
}

} // namespace rpmem::target
