// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/session.hpp"

#include "common/wire/unsolicited.hpp"
#include "rpmemd/confinement/confinement.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/lanes/fabric_lane_server.hpp"
#include "rpmemd/lanes/tcp_lane_server.hpp"
#include "rpmemd/log_channel.hpp"
#include "rpmemd/pool_options.hpp"
#include "rpmemd/session/login.hpp"
#include "rpmemd/session/request_check.hpp"

#include <sys/inotify.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

namespace rpmem::target {
namespace {

// Over TCP the target's processor stores the data, so it can flush them, too.
bool has_appliance_method(wire::Provider provider) { return provider != wire::Provider::tcp; }

constexpr const char* cannot_confine =
    "the configuration wants sessions to be confined (confine = yes), and this one cannot be: ";

} // namespace

Session::~Session() {
    if (!pool_)
        return;
    // The session ends without CLOSE. If the lanes never connected, rpmem_create() has failed.
    const bool remove = state_ == State::created && !(lanes_ && lanes_->ready());
    if (!lanes_ || !lanes_->was_reached())
        registration_.release(); // while the pool is still locked
    if (const auto done = end_pool(remove, false); !done)
        log_.error("{}", done.error().text);
    if (remove)
        log_.notice("removed the pool: this session created it, and its lanes never connected");
}

int Session::milliseconds_to_connect() const {
    if (!connect_deadline_ || !lanes_ || lanes_->ready())
        return std::numeric_limits<int>::max();
    return connect_deadline_->poll_timeout();
}

PoolOptions Session::pool_options() {
    PoolOptions options = pool_options_of(configuration_, peer_gone_);
    options.failures = &failures_;
    options.header_copies = registration_.directory();
    return options;
}

Result<> Session::check(const PoolRequest& request) const {
    if (pool_)
        return refuse(wire::Status::fatal, "CREATE or OPEN was sent again; a session has one pool");
    if (agreement_.resume && !registration_.has_entered())
        return refuse(wire::Status::bad_protocol, "CREATE or OPEN was sent, expected LOGIN first");
    RPMEM_TRY(check_request(request, agreement_, configuration_));
    // The initiator may have a later session already, which this one would keep from the pool.
    if (agreement_.resume && peer_gone_())
        return refuse(wire::Status::fatal, "the initiator has disconnected");
    if (arrival_addresses(own_address_, configuration_.addresses).empty())
        return refuse(wire::Status::fatal_connection,
                      "the address to listen on is unknown: SSH_CONNECTION is not set or its third "
                      "field is not an address, as when sshd does not listen itself; set it with "
                      "the setting address in rpmemd.conf, or with --address");
    return check_confinement(request.provider);
}

Result<> Session::check_confinement(wire::Provider provider) const {
    if (configuration_.confine != Confine::always)
        return {};
    const std::string why = provider == wire::Provider::tcp
                                ? why_not_confined()
                                : "its lanes use libfabric, which needs devices and files at any "
                                  "time; confine = auto allows that";
    if (why.empty())
        return {};
    return refuse(wire::Status::fatal, cannot_confine + why);
}

Result<> Session::log_in(const wire::LoginRequest& request) {
    if (!agreement_.resume)
        return refuse(wire::Status::bad_protocol,
                      "LOGIN was sent, but the ends did not agree on resuming sessions");
    if (!transcript_ || registration_.has_entered())
        return refuse(wire::Status::bad_protocol, "LOGIN was sent again, or after CREATE or OPEN");
    RPMEM_ASSIGN(const auto owner, owner_of(request, *transcript_));
    generation_ = request.generation;
    return enter(owner, {.host = text_of(request.host), .user = text_of(request.user)});
}

Result<> Session::enter(const Owner& owner, InitiatorName initiator) {
    initiator.address = printable(client_address_).substr(0, max_record_text);
    initiator_ = initiator.host.empty() ? initiator.address : initiator.host;
    return registration_.enter(
        {.owner = owner, .generation = generation_, .initiator = std::move(initiator)});
}

Result<wire::InBandAttributes> Session::create(const wire::CreateRequest& asked) {
    const PoolRequest request{.pool_size = asked.pool_size,
                              .lanes = asked.lanes,
                              .provider = asked.provider,
                              .inline_size = asked.inline_size,
                              .pool_set = asked.pool_set};
    RPMEM_TRY(check(request));
    if (configuration_.read_only)
        return refuse(wire::Status::no_access,
                      "this session may only read (read-only), so it cannot create a pool");
    RPMEM_TRY(enter_unnamed());
    return adopt(
        create_pool(pool_options(), request.pool_set, request.pool_size, asked.attributes, log_),
        State::created, request);
}

Result<wire::InBandAttributes> Session::open(const PoolRequest& request) {
    RPMEM_TRY(check(request));
    RPMEM_TRY(enter_unnamed());
    return adopt(open_pool(pool_options(), request.pool_set, request.pool_size, log_),
                 State::opened, request);
}

// Registers an initiator without LOGIN, too, because others may want to know who has the pool.
Result<> Session::enter_unnamed() {
    return registration_.has_entered() ? Result<>() : enter(Owner{}, {});
}

std::filesystem::path Session::path_of(const PoolRequest& request) const {
    return (configuration_.poolset_dir / request.pool_set).lexically_normal();
}

Result<> Session::record(const PoolRequest& request) {
    RPMEM_ASSIGN(auto parts, pool_->identify_parts());
    auto adopted = registration_.adopt({.pool_set = path_of(request),
                                        .parts = std::move(parts),
                                        .attribute = pool_->attribute(),
                                        .headers = pool_->lasting_headers(),
                                        .created = state_ == State::created,
                                        .modified = pool_->modified_before()},
                                       agreement_.compare);
    // A client of protocol 0.1 does not know the status of ESTALE.
    if (!adopted && adopted.error().code == ESTALE && !agreement_.lane_frames)
        adopted.error().code = EINVAL;
    // A hidden page without a record that states catching up would stay hidden for ever. An
    // administrator may have removed a record that could not be read.
    const auto now = registration_.pool_state();
    return adopted && now && now->catching_up_since == 0 ? pool_->restore_first_page() : adopted;
}

// Registers and serves POOL. On failure undoes everything: a created pool is removed again, and the
// record of the pool is restored.
Result<wire::InBandAttributes> Session::adopt(Result<Pool> pool, State state,
                                              const PoolRequest& request) {
    if (!pool)
        return Failure(explain(std::move(pool).error(), request));
    pool_.emplace(std::move(*pool));
    set_state(state);
    auto served = record(request).and_then([&] { return serve(request); });
    if (served)
        return served;
    registration_.release();
    if (const auto done = end_pool(state == State::created, false); !done)
        log_.error("{}", done.error().text);
    pool_.reset();
    return served;
}

// Adds which session has the pool. A session that resumes fails with ESTALE if its pool is invalid
// or if another initiator has it for writing.
Error Session::explain(Error error, const PoolRequest& request) const {
    bool is_stale = error.code == EINVAL && error.kind != ErrorClass::resource_limit;
    if (error.code == EBUSY) {
        if (const auto holder = registration_.holder(path_of(request))) {
            error.text += ": the pool is held by the session of " + holder->description;
            is_stale = holder->is_other_writer;
        }
        // Only a session that may write keeps out one that only reads.
        is_stale = is_stale || configuration_.read_only;
    }
    if (is_stale && generation_ > 0)
        error = {ESTALE, error.kind,
                 fmt::format("{}; {}", error.text,
                             configuration_.read_only ? "open the pool again" : how_to_renew)};
    return error;
}

// Ends the lanes before the pool, because they use its memory.
Result<> Session::end_pool(bool remove, bool in_order) {
    const bool has_written = lanes_ && lanes_->may_have_written();
    lanes_.reset();
    // An initiator that resumes sessions waits for all acknowledgements before CLOSE. Any other end
    // may leave bytes that are stored and not flushed, although the pool is marked as closed.
    const bool is_flushed = in_order && agreement_.resume;
    if (!remove && !is_flushed && !configuration_.read_only && !pool_->medium_failure())
        pool_->flush();
    fault_guard_.reset();
    const bool undo = state_ == State::created;
    set_state(State::closed);
    const auto ended = [&](const std::optional<MediumFailure>& failure) {
        if (failure)
            registration_.medium_failed(failure->text);
        else if (in_order)
            registration_.closed(has_written, pool_->modified());
        else if (!remove)
            registration_.ended(pool_->modified());
    };
    if (!remove)
        return pool_->close(ended);
    return undo ? pool_->undo_create(ended) : pool_->remove(ended);
}

PoolAccess Session::access() const {
    if (!agreement_.lane_frames || !configuration_.persist_general)
        return PoolAccess::direct;
    return configuration_.direct_access ? PoolAccess::direct_if_can : PoolAccess::frames;
}

wire::PersistMethod Session::persist_method(wire::Provider provider) const {
    // With the appliance method no processor flushes, so only persistent memory is durable.
    return configuration_.persist_apm && has_appliance_method(provider) && lanes_->is_direct() &&
                   (pool_->is_pmem() || !configuration_.persist_general)
               ? wire::PersistMethod::appliance
               : wire::PersistMethod::general_purpose;
}

Result<std::unique_ptr<LaneServer>> Session::start_lanes(const PoolRequest& request) {
    const std::span pool(pool_->address(), pool_->size());
    const std::chrono::microseconds spin_time(configuration_.spin_time);
    if (request.provider == wire::Provider::tcp)
        return TcpLaneServer::start(
            {.addresses = arrival_addresses(own_address_, configuration_.addresses),
             .ports = {configuration_.first_port, configuration_.last_port},
             .lanes = std::min(request.lanes, max_lanes),
             .workers = configuration_.threads,
             .spin_time = spin_time,
             .peer_timeout = configuration_.peer_timeout,
             .tls = agreement_.tls,
             .read_only = configuration_.read_only,
             .digests = agreement_.compare},
            pool, pool_->medium(), log_);
    const FabricServerOptions options{
        .provider = request.provider,
        .address = arrival_addresses(own_address_, configuration_.addresses).front(),
        .device = configuration_.device,
        .lanes = request.lanes,
        .inline_size = request.inline_size,
        .workers = configuration_.threads,
        .spin_time = spin_time,
        .paging = configuration_.paging,
        .access = access(),
        .is_0_1 = !agreement_.lane_frames,
        .read_only = configuration_.read_only,
        .digests = agreement_.compare,
        .further_addresses = configuration_.addresses};
    return FabricLaneServer::start(options, pool, pool_->medium(), log_);
}

Result<wire::InBandAttributes> Session::serve(const PoolRequest& request) {
    if (!configuration_.persist_general && !pool_->is_pmem())
        return refuse(wire::Status::fatal,
                      fmt::format("the pool {} is not on persistent memory, and the configuration "
                                  "allows only the appliance method (persist-general = no)",
                                  request.pool_set));
    if (!configuration_.persist_general && !has_appliance_method(request.provider))
        return refuse(wire::Status::fatal,
                      "the configuration allows only the appliance method (persist-general = no), "
                      "which does not exist over tcp");
    if (!configuration_.direct_access && !agreement_.lane_frames)
        return refuse(
            wire::Status::fatal,
            "the configuration allows no direct access to pools (direct-access = no), and "
            "this client of protocol 0.1 supports no other access");
    auto lanes = start_lanes(request);
    if (!lanes) {
        const bool missing = lanes.error().code == ENODATA;
        return refuse(missing ? wire::Status::provider_not_supported : wire::Status::fatal,
                      lanes.error().text);
    }
    lanes_ = std::move(*lanes);
    lanes_->set_before_first_lane([this] { return registration_.begin_writing(); });
    connect_deadline_.emplace(configuration_.accept_timeout);
    guard_memory(); // after libfabric, whose libraries may install signal handlers of their own
    RPMEM_TRY(confine(request.provider));
    statistics_.start(
        {.pool_set = request.pool_set, .initiator = initiator_, .pool_size = pool_->size()},
        lanes_->counters());
    const wire::PersistMethod method = persist_method(request.provider);
    log_policy(request.provider, method);
    warn_about(request.provider);
    log_.notice("pool {}: {} bytes, {} lanes, {} workers, provider {}, port {}", request.pool_set,
                pool_->size(), lanes_->lanes(), lanes_->workers(), lanes_->describe(),
                lanes_->port());
    return wire::InBandAttributes{lanes_->port(), method, lanes_->key(), lanes_->remote_base(),
                                  lanes_->lanes()};
}

Result<> Session::secure_lanes(std::span<const std::byte> request,
                               std::span<const std::byte> response) {
    if (!transcript_)
        return {};
    transcript_->add(request, response);
    auto proved = transcript_->prove_by(lanes_->lanes(), generation_);
    transcript_.reset();
    RPMEM_ASSIGN(auto proof, std::move(proved));
    return lanes_->secure(std::move(proof));
}

void Session::warn_about(wire::Provider provider) const {
    if (provider == wire::Provider::sockets)
        log_.warning("this session uses the provider sockets: {}", danger_of_sockets);
    if (configuration_.persist_apm && !has_appliance_method(provider))
        log_.warning("persist-apm is set, and this session uses the general purpose method: over "
                     "tcp there is no other");
}

void Session::guard_memory() {
    auto [file, prefix] = open_log_channel(configuration_, LOG_ERR);
    FaultChannels channels{STDERR_FILENO, STDOUT_FILENO, std::move(file), std::move(prefix)};
    if (agreement_.medium_failure) {
        constexpr std::uint64_t page = 4096; // the minimum of all architectures
        channels.message = [](const PartInMemory& part, FaultCause cause) {
            return wire::encode(
                wire::MediumFailure{part.path, 0, page, errno_of(cause), describe(cause)});
        };
        channels.place_of_offset = wire::place_of_offset_in_medium_failure;
    }
    fault_guard_.reset(); // only one may exist
    fault_guard_.emplace(pool_->medium().parts(), std::move(channels));
    // The kernel sends no signal when it copies from the pool for libfabric, so watch the files.
    changes_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    for (const PartInMemory& part : pool_->medium().parts())
        // IN_ATTRIB reports a change of the number of links, as when the file is removed.
        static_cast<void>(
            ::inotify_add_watch(changes_.get(), part.path.c_str(), IN_MODIFY | IN_ATTRIB));
}

// Runs after all that opens files, and before a worker thread starts: see docs/confinement.md.
Result<> Session::confine(wire::Provider provider) {
    if (configuration_.confine == Confine::never || provider != wire::Provider::tcp)
        return {};
    RPMEM_ASSIGN(auto directories, pool_->prepare_confinement());
    const Confinement confinement =
        target::confine({.directories = std::move(directories),
                         .may_remove = state_ == State::created ||
                                       (configuration_.may_delete && !configuration_.read_only),
                         .statistics = statistics_.prepare_confinement(),
                         .record = configuration_.read_only ? -1 : pool_->attribute().part().fd(),
                         .log = open_log_channel(configuration_, LOG_WARNING)});
    if (!confinement.holds.empty())
        log_.notice("confined: {}", confinement.holds);
    if (confinement.is_missing.empty())
        return {};
    if (configuration_.confine == Confine::always)
        return refuse(wire::Status::fatal, cannot_confine + confinement.is_missing);
    log_.info("{}: {}", confinement.holds.empty() ? "not confined" : "not all is confined",
              confinement.is_missing);
    return {};
}

void Session::look_at_parts() const {
    std::array<std::byte, 4096> events;
    while (::read(changes_.get(), events.data(), events.size()) > 0) {
    }
    if (pool_)
        pool_->medium().look_at_files();
}

Result<> Session::close(bool remove) {
    if (!pool_)
        return refuse(wire::Status::fatal, "CLOSE was sent before a pool was open");
    const bool forbidden = remove && state_ != State::created && !configuration_.may_delete;
    const Result<> done = end_pool(remove && !forbidden, true);
    if (const auto failure = pool_->medium_failure())
        failures_.set(*failure);
    pool_.reset();
    RPMEM_TRY(done);
    if (forbidden)
        return refuse(wire::Status::no_access,
                      "the pool was closed but not deleted: this key may only delete a pool in the "
                      "session that created it (--allow-remove in the command of its line in "
                      "authorized_keys allows more)");
    return {};
}

} // namespace rpmem::target
