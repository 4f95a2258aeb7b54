// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/connection/connection.hpp"

#include "common/wire/persist_message.hpp"
#include "librpmem/lanes/fabric_lanes.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/lanes/tcp_lanes.hpp"
#include "librpmem/session/account.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <span>

namespace rpmem::initiator {
namespace {

constexpr const char* no_appliance_over_tcp =
    "the target allows the appliance method (persist-apm), but this session uses the general "
    "purpose method: over tcp there is no other";

// Copies TEXT to FIELD, which must contain zeros. Truncates it so that FIELD ends with a NUL.
template <std::size_t Size>
void put(std::string_view text, std::array<char, Size>& field) {
    std::ranges::copy(text.substr(0, Size - 1), field.begin());
}

// Returns the number of lanes that the limit on descriptors allows if all lanes are connected at
// once: each takes several descriptors, and the application needs some too. A lane that is
// connected at its first use reports the limit then.
unsigned lanes_for_descriptors(bool all_at_once) {
    if (!all_at_once)
        return UINT_MAX;
    constexpr rlim_t descriptors_each = 16;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT_MAX;
    return static_cast<unsigned>(
        std::clamp<rlim_t>(limit.rlim_cur / descriptors_each, 1, UINT_MAX));
}

// Returns the number of lanes to request: WANTED by the application, or less if the provider, the
// settings, the target or a limit on descriptors allow only fewer. HELLO is empty for a target of
// protocol 0.1.
unsigned lanes_to_ask(unsigned wanted, const ProviderChoice& choice, const Settings& settings,
                      const std::optional<wire::Hello>& hello) {
    return std::min({wanted, choice.fabric ? choice.fabric->max_lanes : wanted,
                     settings.max_lanes.value_or(wanted), lanes_for_descriptors(!hello),
                     hello ? hello->lanes : wanted});
}

// Checks the values that the lanes will use, because a target may send any. Fails with EBADMSG.
Result<> check_answer(const wire::InBandAttributes& in_band, const wire::OpenRequest& asked,
                      const wire::Agreement& agreement) {
    const auto bad = [](std::string what) {
        return fail(ErrorClass::target_refused, EBADMSG,
                    "rpmemd violated the protocol: its response contains {}", what);
    };
    if (in_band.port == 0 || in_band.port > UINT16_MAX)
        return bad(fmt::format("port {}; 1 to {} are allowed", in_band.port, UINT16_MAX));
    const bool has_access = !agreement.lane_frames || in_band.rkey != 0;
    if (in_band.method == wire::PersistMethod::appliance &&
        (asked.provider == wire::Provider::tcp || !has_access))
        return bad(fmt::format("persist method {} (appliance), which needs direct access to the "
                               "pool, and this session has none",
                               static_cast<unsigned>(in_band.method)));
    if (in_band.lanes == 0 || in_band.lanes > asked.lanes)
        return bad(fmt::format("{} lanes; 1 to {}, as requested, are allowed", in_band.lanes,
                               asked.lanes));
    if (in_band.raddr > UINT64_MAX - asked.pool_size)
        return bad(fmt::format("remote address {:#x}; with a pool of {} bytes the maximum is {:#x}",
                               in_band.raddr, asked.pool_size, UINT64_MAX - asked.pool_size));
    return {};
}

} // namespace

Result<std::shared_ptr<Connection>> Connection::log_in(const PoolArguments& arguments,
                                                       const Settings& settings,
                                                       std::uint64_t generation,
                                                       const transport::Secret* takeover,
                                                       std::optional<Deadline> deadline) {
    std::shared_ptr<Connection> connection(new Connection(arguments, settings, deadline));
    RPMEM_TRY(connection->start_session());
    RPMEM_TRY(connection->introduce(generation, takeover));
    RPMEM_TRY(connection->choose_provider());
    return connection;
}

std::chrono::milliseconds Connection::rest() const {
    return deadline_ ? std::chrono::milliseconds(std::max(deadline_->poll_timeout(), 1))
                     : std::chrono::milliseconds::max();
}

Connection::~Connection() {
    if (monitor_)
        monitor_->stop();
    lanes_.reset();
    if (state_ == State::half_made)
        session_->undo_create();
}

Result<> Connection::start_session() {
    RPMEM_ASSIGN(auto target, parse_target(arguments_.target));
    host_ = target.host;
    route_ = std::make_unique<Route>(target, std::span(arguments_.address, arguments_.size),
                                     settings_, login_time());
    RdmaSearch& search = route_->search();
    if (settings_.ssh_transport == SshTransport::libssh2 && may_use_rdma(settings_))
        search.start_thread(); // this thread logs in meanwhile
    if (!may_use_rdma(settings_))
        RPMEM_TRY(require_a_provider(search, host_, settings_));
    auto session =
        Session::start(target, arguments_.command, route_->forces_ipv4(), settings_, rest());
    if (!session)
        // If only RDMA is allowed and not available, that explains more than a failed login.
        RPMEM_TRY(require_a_provider(search, host_, settings_));
    RPMEM_ASSIGN(session_, std::move(session));
    return {};
}

Result<> Connection::require_resume() const {
    if (settings_.on_loss == OnLoss::fail)
        return {};
    return fail(ErrorClass::target_refused, ENOTSUP,
                "{} runs an rpmemd that cannot replace a lost session (protocol 0.1), so "
                "RPMEM_ON_LOSS={} is not possible; install a later rpmemd there, or use "
                "RPMEM_ON_LOSS=fail",
                host_, settings_.on_loss == OnLoss::wait ? "wait" : "alone");
}

// Sends LOGIN, if the target supports it. It names this host and this user, so that the target can
// report them to another initiator that finds the pool in use.
Result<> Connection::introduce(std::uint64_t generation, const transport::Secret* takeover) {
    if (!can_resume())
        return require_resume();
    wire::LoginRequest login{.generation = generation};
    if (takeover)
        std::ranges::copy(takeover->bytes(), login.takeover.begin());
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) == 0)
        put(text.data(), login.host);
    const auto account = current_account(time_for_names(login_time()));
    put(account ? account->name : std::to_string(::geteuid()), login.user);
    session_->answers_within(rest());
    auto done = session_->log_in(login);
    ::explicit_bzero(login.takeover.data(), login.takeover.size());
    return done;
}

Result<> Connection::choose_provider() {
    RPMEM_ASSIGN(choice_, route_->choose(*session_, login_time()));
    facts_.description = describe(*choice_);
    if (choice_->provider == wire::Provider::verbs) {
        facts_.notes = std::move(choice_->notes);
    } else {
        facts_.description += fmt::format(" ({})", choice_->why_not_rdma);
        facts_.misses_device = settings_.enable_verbs && !settings_.device.empty();
    }
    lane_count_ = lanes_to_ask(arguments_.lanes, *choice_, settings_, session_->hello());
    if (choice_->fabric)
        inline_size_ =
            session_->agreement().lane_frames ? settings_.inline_size : wire::inline_size_of_0_1;
    return {};
}

wire::OpenRequest Connection::request() const {
    return {.pool_size = arguments_.size,
            .lanes = lane_count_,
            .provider = choice_->provider,
            .inline_size = inline_size_,
            .pool_set = arguments_.pool_set};
}

Result<wire::CreateResponse> Connection::create(const rpmem_pool_attr& attributes) {
    const wire::OpenRequest asked = request();
    RPMEM_ASSIGN(auto response, session_->create({.pool_size = asked.pool_size,
                                                  .lanes = asked.lanes,
                                                  .provider = asked.provider,
                                                  .inline_size = asked.inline_size,
                                                  .attributes = attributes,
                                                  .pool_set = asked.pool_set}));
    set_state(State::half_made);
    return response;
}

Result<wire::OpenResponse> Connection::open() {
    session_->answers_within(rest());
    RPMEM_ASSIGN(auto response, session_->open(request()));
    set_state(State::opened);
    return response;
}

Result<> Connection::connect(const wire::InBandAttributes& in_band) {
    RPMEM_TRY(check_answer(in_band, request(), session_->agreement()));
    if (choice_->provider == wire::Provider::tcp &&
        session_->holds(wire::condition_no_appliance_over_tcp))
        facts_.warnings.emplace_back(no_appliance_over_tcp);
    RPMEM_ASSIGN(monitor_, Monitor::make(*session_));
    auto lanes = connect_lanes(in_band);
    if (!lanes) {
        Error error = std::move(lanes).error();
        if (const auto why = await_loss(error)) {
            error.code = why->code;
            error.kind = why->kind;
            error.text += "; " + why->text;
        }
        return Failure(std::move(error));
    }
    lanes_ = std::move(*lanes);
    if (const LaneAddress& used = route_->address(); used.host != host_)
        facts_.description += fmt::format(", to {} ({})", used.host, used.source);
    for (std::string& notice : session_->take_notices())
        facts_.notices.push_back(std::move(notice));
    route_.reset();
    session_->answers_within(settings_.operation_timeout);
    const statistics::Moment now = statistics::moment();
    took_ = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::nanoseconds(now.nanoseconds - began_.nanoseconds));
    nanoseconds_of_tick_ = statistics::nanoseconds_of_tick(began_, now);
    if (const fabric::EventQueue* const events = lanes_->events())
        monitor_->start(*events);
    return {};
}

Result<std::unique_ptr<ConnectionLanes>>
Connection::connect_lanes(const wire::InBandAttributes& in_band) {
    std::shared_ptr<const transport::ProofSession> proof;
    if (session_->agreement().lane_frames) {
        RPMEM_ASSIGN(auto taken, session_->take_proof());
        proof = std::make_shared<const transport::ProofSession>(std::move(taken));
    }
    LanesRequest request{.kind =
                             choice_->fabric ? std::optional(choice_->fabric->kind) : std::nullopt,
                         .host = {},
                         .port = static_cast<std::uint16_t>(in_band.port),
                         .pool = arguments_.address,
                         .pool_size = arguments_.size,
                         .remote = std::nullopt,
                         .method = in_band.method,
                         .lanes = in_band.lanes,
                         .interrupt = monitor_->interrupt(),
                         .proof = std::move(proof),
                         .read_only = is_read_only(),
                         .inline_size = inline_size_,
                         .tls = session_->agreement().tls,
                         .digests = session_->agreement().compare};
    // On a lane with frames, key 0 means that the target allows no direct access.
    if (request.kind && (!request.proof || in_band.rkey != 0))
        request.remote = {in_band.raddr, in_band.rkey};
    return route_->connect(
        login_time(), [this] { return monitor_->find_lost(); },
        [&](const std::string& host, auto time) {
            request.host = host;
            return request.kind ? FabricLanes::open(request, settings_, time)
                                : TcpLanes::open(request, settings_, time);
        });
}

std::optional<Error> Connection::await_loss(const Error& error) {
    const bool may_be_early = error.kind == ErrorClass::link_lost && error.code != ETIMEDOUT;
    return monitor_->reason(may_be_early ? explanation_time() : std::chrono::milliseconds(0));
}

// A call that can reconnect waits less. It needs the reason only for the log, and to detect a
// failed medium, which the daemon reports before it ends.
std::chrono::milliseconds Connection::explanation_time() const {
    constexpr std::chrono::milliseconds for_the_caller(3000);
    constexpr std::chrono::milliseconds for_the_log(250);
    return can_reconnect() ? for_the_log : for_the_caller;
}

Result<> Connection::close() {
    monitor_->stop();
    lanes_.reset();
    return session_->close();
}

void Connection::cut() {
    monitor_->stop();
    session_->cut();
}

void Connection::release_in_child() {
    monitor_->become_inherited();
    if (lanes_)
        lanes_->release_in_child();
}

} // namespace rpmem::initiator
