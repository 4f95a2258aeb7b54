#include "rpmemd/lanes/tcp_lane_server.hpp"

#include "common/transport/crypto.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace rpmem::target {
namespace {

using transport::Refusal;
using transport::Refused;

// What a worker receives by one call. It fits into the second cache of a processor.
constexpr std::size_t receive_buffer_size = std::size_t{256} * 1024;

unsigned worker_count(unsigned wanted, unsigned lanes) {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp(wanted == 0 ? processors : wanted, 1U, lanes);
}

// It reads its files when it is used for the first time, which a confined session cannot.
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
    const unsigned count = worker_count(options_.workers, options_.lanes);
    const auto ended = [this](unsigned lane, const std::string& how, std::string problem) {
        lane_ended(lane, how, std::move(problem));
    };
    for (unsigned i = 0; i < count; ++i) {
        RPMEM_ASSIGN(auto worker, FrameWorker::make(std::make_unique<transport::SocketGroup>(
                                                        options_.spin_time, receive_buffer_size),
                                                    ended));
        workers_.push_back(std::move(worker));
    }
    RPMEM_ASSIGN(listener_, transport::Listener::listen({.addresses = options_.addresses,
                                                         .ports = options_.ports,
                                                         .peer_timeout = options_.peer_timeout},
                                                        random_));
    for (const std::string& warning : listener_->warnings())
        log_.warning("no lanes are served there: {}", warning);
    return {};
}

// Nobody comes any more; then the workers end, who use what is destroyed behind.
TcpLaneServer::~TcpLaneServer() {
    listener_.reset();
    workers_.clear();
}

void TcpLaneServer::end(const std::string& why) {
    for (const auto& worker : workers_)
        worker->end(why);
}

Result<> TcpLaneServer::secure(transport::ProofSession session) {
    session_.emplace(std::move(session));
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
    if (const auto deadline = listener_->deadline())
        limit = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(
                               *deadline - std::chrono::steady_clock::now()),
                           std::chrono::milliseconds(0), limit);
    if (::poll(fds.data(), fds.size(), static_cast<int>(limit.count())) < 0 && errno != EINTR)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot wait for the client and the lanes (poll)");
    return {};
}

std::optional<Refused> TcpLaneServer::admit(const transport::LaneIdentity& identity) {
    if (identity.generation != 0) // the control channel has announced no other
        return Refused{.why = Refusal::generation};
    if (in_use_[identity.lane].exchange(true))
        return Refused{.why = Refusal::lane_in_use};
    return std::nullopt;
}

void TcpLaneServer::take(const transport::LaneIdentity& identity,
                         std::unique_ptr<transport::Stream> stream, std::string name,
                         const wire::LaneCredits& credits) {
    log_.debug("{} is connected", name);
    const wire::LaneTerms terms{
        .credits = credits, .pool_size = pool_.size(), .read_only = options_.read_only};
    auto connection =
        std::make_unique<transport::FrameConnection>(std::move(stream), std::move(name));
    const auto taken = workers_[identity.lane % workers_.size()]->take(std::make_unique<ServedLane>(
        identity.lane, std::move(connection), terms, pool_.data(), medium_));
    if (!taken)
        return fail_by(fmt::format("lane {}: {}", identity.lane, taken.error().text));
    ++connected_;
}

// From a worker's thread.
void TcpLaneServer::lane_ended(unsigned lane, const std::string& how, std::string problem) {
    log_.info("{}", how);
    in_use_[lane] = false;
    if (!problem.empty())
        fail_by(std::move(problem));
}

} // namespace rpmem::target
