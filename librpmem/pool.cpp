#include "librpmem/pool.hpp"

#include "common/base/log.hpp"
#include "librpmem/lanes/fabric_lanes.hpp"
#include "librpmem/lanes/provider_choice.hpp"
#include "librpmem/lanes/tcp_lanes.hpp"
#include "librpmem/pool_request.hpp"

#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

// The header of a pool, which only rpmem_set_attr() writes.
constexpr std::size_t header_size = 4096;

// How long a lane waits for what explains why the link was lost.
constexpr std::chrono::milliseconds explanation_time(3000);

constexpr std::size_t nothing_writable = SIZE_MAX; // Pool::first_writable_ of a read-only session

constexpr const char* no_appliance_over_tcp =
    "the target allows the appliance method (persist-apm), and this session uses the general "
    "purpose one: over tcp there is no other";

bool has_header(const rpmem_pool_attr& attributes) {
    static constexpr rpmem_pool_attr none{};
    return std::memcmp(&attributes, &none, sizeof(none)) != 0;
}

} // namespace

Result<Pool::Plan> Pool::start_session(const PoolArguments& arguments) {
    RPMEM_ASSIGN(auto target, parse_target(arguments.target));
    host_ = target.host;
    route_ =
        std::make_unique<Route>(target, LocalMemory{arguments.address, arguments.size}, settings_);
    RdmaSearch& search = route_->search();
    if (settings_.ssh_transport == SshTransport::libssh2 && may_use_rdma(settings_))
        search.start_thread(); // this one logs in
    if (!may_use_rdma(settings_))
        RPMEM_TRY(require_a_provider(search, host_, settings_));
    auto session = Session::start(target, arguments.command, route_->begins_with_ipv4(), settings_);
    if (!session)
        // Where only RDMA may serve, what keeps it from that explains more than a failed login.
        RPMEM_TRY(require_a_provider(search, host_, settings_));
    RPMEM_ASSIGN(session_, std::move(session));
    RPMEM_ASSIGN(auto choice, route_->choose(*session_));
    description_ = describe(choice);
    if (choice.provider == wire::Provider::verbs) {
        notes_ = std::move(choice.notes);
    } else {
        description_ += fmt::format(" ({})", choice.why_not_rdma);
        misses_device_ = settings_.enable_verbs && !settings_.device.empty();
    }
    Plan plan{.choice = std::move(choice), .lanes = 0};
    plan.lanes = lanes_to_ask(arguments.lanes, plan.choice, settings_, session_->hello());
    if (plan.choice.fabric)
        plan.inline_size =
            session_->agreement().lane_frames ? settings_.inline_size : wire::inline_size_of_0_1;
    return plan;
}

Result<std::unique_ptr<LazyLanes>> Pool::connect_lanes(const PoolArguments& arguments,
                                                       const wire::InBandAttributes& in_band,
                                                       const Plan& plan) {
    std::shared_ptr<const transport::ProofSession> proof;
    if (session_->agreement().lane_frames) {
        RPMEM_ASSIGN(auto taken, session_->take_proof());
        proof = std::make_shared<const transport::ProofSession>(std::move(taken));
    }
    LanesRequest request{.kind = plan.choice.fabric ? std::optional(plan.choice.fabric->kind)
                                                    : std::nullopt,
                         .host = {},
                         .port = static_cast<std::uint16_t>(in_band.port),
                         .pool = arguments.address,
                         .pool_size = arguments.size,
                         .remote = std::nullopt,
                         .method = in_band.method,
                         .lanes = in_band.lanes,
                         .watch = {monitor_->wake_fd(), [this] { return sees_loss(); }},
                         .session_fd = session_->output_fd(),
                         .proof = std::move(proof),
                         .read_only = session_->holds(wire::condition_read_only),
                         .inline_size = plan.inline_size,
                         .tls = session_->agreement().tls};
    // Over frames key 0 says that there is no access.
    if (request.kind && (!request.proof || in_band.rkey != 0))
        request.remote = {in_band.raddr, in_band.rkey};
    return route_->connect(session_->output_fd(), [&](const std::string& host, auto time) {
        request.host = host;
        return request.kind ? FabricLanes::open(request, settings_, time)
                            : TcpLanes::open(request, settings_, time);
    });
}

Result<> Pool::connect(const PoolArguments& arguments, const wire::InBandAttributes& in_band,
                       const Plan& plan) {
    RPMEM_TRY(
        check_answer(in_band, {size_, plan.lanes, plan.choice.provider}, session_->agreement()));
    if (plan.choice.provider == wire::Provider::tcp &&
        session_->holds(wire::condition_no_appliance_over_tcp))
        warnings_.emplace_back(no_appliance_over_tcp);
    RPMEM_ASSIGN(monitor_, Monitor::make(*session_));
    auto lanes = connect_lanes(arguments, in_band, plan);
    if (!lanes) {
        Error error = std::move(lanes).error();
        if (const auto why = loss_behind(error)) {
            error.code = why->code;
            error.text += "; " + why->text;
        }
        return Failure(std::move(error));
    }
    lanes_ = std::move(*lanes);
    lane_count_ = lanes_->lanes();
    if (const LaneAddress& used = route_->address(); used.host != host_)
        description_ += fmt::format(", to {} ({})", used.host, used.source);
    route_.reset();
    if (const fabric::EventQueue* const events = lanes_->events())
        monitor_->start(*events);
    out_of_dumps_.emplace(std::span(arguments.address, arguments.size));
    in_children_.emplace(
        [](void* owner) {
            auto& pool = *static_cast<Pool*>(owner);
            pool.monitor_->become_inherited();
            pool.session_->release_in_child();
            pool.lanes_->release_in_child();
        },
        this);
    return {};
}

Result<std::unique_ptr<Pool>> Pool::create(const PoolArguments& arguments,
                                           const rpmem_pool_attr& attributes,
                                           const Settings& settings) {
    std::unique_ptr<Pool> pool(new Pool(arguments.size, settings));
    RPMEM_ASSIGN(const auto plan, pool->start_session(arguments));
    RPMEM_ASSIGN(const auto response, pool->session_->create({.pool_size = arguments.size,
                                                              .lanes = plan.lanes,
                                                              .provider = plan.choice.provider,
                                                              .inline_size = plan.inline_size,
                                                              .attributes = attributes,
                                                              .pool_set = arguments.pool_set}));
    pool->first_writable_ = has_header(attributes) ? header_size : 0;
    pool->become(State::half_made);
    RPMEM_TRY(pool->connect(arguments, response.in_band, plan));
    pool->become(State::open);
    return pool;
}

Result<std::unique_ptr<Pool>> Pool::open(const PoolArguments& arguments,
                                         rpmem_pool_attr* attributes, const Settings& settings) {
    std::unique_ptr<Pool> pool(new Pool(arguments.size, settings));
    RPMEM_ASSIGN(const auto plan, pool->start_session(arguments));
    RPMEM_ASSIGN(const auto response, pool->session_->open({.pool_size = arguments.size,
                                                            .lanes = plan.lanes,
                                                            .provider = plan.choice.provider,
                                                            .inline_size = plan.inline_size,
                                                            .pool_set = arguments.pool_set}));
    const bool read_only = pool->session_->holds(wire::condition_read_only);
    const std::size_t header = has_header(response.attributes) ? header_size : 0;
    pool->first_writable_ = read_only ? nothing_writable : header;
    RPMEM_TRY(pool->connect(arguments, response.in_band, plan));
    pool->become(State::open);
    if (attributes)
        *attributes = response.attributes;
    return pool;
}

Pool::~Pool() {
    in_children_.reset();
    if (monitor_)
        monitor_->stop();
    lanes_.reset();
    if (state_ == State::half_made)
        session_->undo_create();
}

bool Pool::is_writable(std::size_t offset, std::size_t length, unsigned lane,
                       unsigned flags) const {
    return lane < lane_count_ && offset >= first_writable_ && offset < size_ &&
           length <= size_ - offset && (flags & ~RPMEM_PERSIST_RELAXED) == 0;
}

// For lanes, which throw nothing.
bool Pool::sees_loss() const noexcept try { return monitor_->is_lost_after_wake(); } catch (...) {
    return true;
}

// OPERATE is given the lane, connected, and returns what Lane's operations do.
template <typename Operate>
Result<> Pool::on_lane(const char* call, unsigned index, Operate operate) {
    FrameLane* lane = lanes_->lane(index);
    if (!lane) {
        auto connected = lanes_->use_lane(index);
        if (!connected)
            return loss_behind(connected.error()) ? lost(call)
                                                  : in_context(call, std::move(connected).error());
        lane = *connected;
    }
    return checked(call, *lane, operate(*lane));
}

// Why the session is lost, if that is why a lane could not be connected.
std::optional<Error> Pool::loss_behind(const Error& error) {
    const bool may_be_early = error.kind == ErrorClass::link_lost && error.code != ETIMEDOUT;
    return monitor_->reason(may_be_early ? explanation_time : std::chrono::milliseconds(0));
}

// As on_lane(), for a range that the lane is to write.
template <typename Operate>
[[gnu::always_inline]] inline Result<> Pool::on_range(const char* call, std::size_t offset,
                                                      std::size_t length, unsigned lane,
                                                      unsigned flags, Operate operate) {
    if (!is_writable(offset, length, lane, flags)) [[unlikely]]
        return bad_range(call, offset, length, lane, flags);
    if (monitor_->lost()) [[unlikely]]
        return lost(call);
    if (length == 0) [[unlikely]]
        return unless_lost(call);
    return on_lane(call, lane, operate);
}

Result<> Pool::persist(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    const bool relaxed = (flags & RPMEM_PERSIST_RELAXED) != 0;
    return on_range("rpmem_persist", offset, length, lane, flags,
                    [&](FrameLane& own) { return own.persist(offset, length, relaxed); });
}

Result<> Pool::deep_persist(std::size_t offset, std::size_t length, unsigned lane) {
    return on_range("rpmem_deep_persist", offset, length, lane, 0,
                    [&](FrameLane& own) { return own.deep_persist(offset, length); });
}

Result<> Pool::flush(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    const bool relaxed = (flags & RPMEM_FLUSH_RELAXED) != 0;
    return on_range("rpmem_flush", offset, length, lane, flags,
                    [&](FrameLane& own) { return own.flush(offset, length, relaxed); });
}

Result<> Pool::drain(unsigned lane, unsigned flags) {
    if (flags != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_drain: flags {:#x} are not known; 0 is the only value", flags);
    if (lane >= lane_count_)
        return bad_lane("rpmem_drain", lane);
    if (monitor_->lost())
        return lost("rpmem_drain");
    FrameLane* const own = lanes_->lane(lane);
    return own && own->owes() ? checked("rpmem_drain", *own, own->drain())
                              : unless_lost("rpmem_drain");
}

Result<> Pool::read(std::byte* destination, std::size_t offset, std::size_t length, unsigned lane) {
    if (lane >= lane_count_)
        return bad_lane("rpmem_read", lane);
    if (offset >= size_ || length > size_ - offset)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_read: {} bytes at offset {} are not within the pool of {} bytes", length,
                    offset, size_);
    if (monitor_->lost())
        return lost("rpmem_read");
    return on_lane("rpmem_read", lane,
                   [&](FrameLane& own) { return own.read(destination, offset, length); });
}

Result<> Pool::set_attributes(const rpmem_pool_attr& attributes) {
    if (first_writable_ == nothing_writable)
        return bad_range("rpmem_set_attr", 0, header_size, 0, 0);
    if (monitor_->find_lost())
        return lost("rpmem_set_attr");
    return checked("rpmem_set_attr", session_->set_attributes({attributes}));
}

Result<> Pool::close() {
    in_children_.reset();
    Result<> drained = unless_lost("rpmem_close");
    for (unsigned lane = 0; lane < lane_count_ && drained; ++lane)
        if (FrameLane* const own = lanes_->lane(lane))
            drained = checked("rpmem_close", *own, own->drain());
    monitor_->stop();
    lanes_.reset();
    return drained ? checked("rpmem_close", session_->close()) : drained;
}

Failure Pool::bad_lane(const char* call, unsigned lane) const {
    return fail(ErrorClass::caller_fault, EINVAL,
                "{}: there is no lane {}; the lanes of this pool are 0 to {}", call, lane,
                lane_count_ - 1);
}

Failure Pool::bad_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                        unsigned flags) const {
    if ((flags & ~RPMEM_PERSIST_RELAXED) != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "{}: flags {:#x} are not known; 0 and 1 (relaxed) are", call, flags);
    if (lane >= lane_count_)
        return bad_lane(call, lane);
    if (first_writable_ == nothing_writable)
        return fail(ErrorClass::caller_fault, EACCES,
                    "{}: {} lets this key only read (--read-only in the command of its line in "
                    "authorized_keys there)",
                    call, host_);
    if (offset < first_writable_)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "{}: offset {} is within the first {} bytes, where the target keeps the pool's "
                    "header; rpmem_set_attr() writes it",
                    call, offset, header_size);
    return fail(ErrorClass::caller_fault, EINVAL,
                "{}: {} bytes at offset {} are not within the pool of {} bytes", call, length,
                offset, size_);
}

Failure Pool::lost(const char* call) {
    // Without a lock: whoever held one when the process forked is not here.
    if (inherited())
        return fail(ErrorClass::caller_fault, EPERM,
                    "{}: the pool belongs to the process that opened it, and this is a child that "
                    "it made by fork(2); a child may only close it, and open pools of its own",
                    call);
    return in_context(call, monitor_->reason(std::chrono::milliseconds(0)).value());
}

Result<> Pool::unless_lost(const char* call) {
    return monitor_->find_lost() ? Result<>(lost(call)) : Result<>();
}

// ASKED: what a request came to.
Result<> Pool::checked(const char* call, Result<> asked) {
    if (asked || asked.error().kind == ErrorClass::target_refused)
        return asked;
    monitor_->declare_lost(asked.error());
    if (asked.error().code == ETIMEDOUT)
        return in_context(call, std::move(asked).error());
    return lost(call);
}

Failure Pool::broken(const char* call, const FrameLane& lane, int code) {
    if (code == ETIMEDOUT) {
        Error late{
            ETIMEDOUT, ErrorClass::link_lost,
            fmt::format("{} did not complete an operation within {} ms (RPMEM_OPERATION_TIMEOUT)",
                        host_, settings_.operation_timeout.count())};
        monitor_->declare_lost(late);
        return in_context(call, std::move(late));
    }
    if (code == EBADMSG)
        monitor_->declare_lost(session_->ending("rpmemd broke the protocol: " + lane.complaint()));
    // A lane that breaks does so because the session ends, as a rule, which can say why.
    if (!monitor_->reason(explanation_time)) {
        const std::string words = printable(lane.output());
        monitor_->declare_lost(session_->ending(
            fmt::format("a lane failed: {}{}{}", strerror(code),
                        words.empty() ? "" : "; the target's last words there: ", words)));
    }
    return lost(call);
}

} // namespace rpmem::initiator
