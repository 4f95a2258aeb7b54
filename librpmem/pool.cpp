#include "pool.hpp"

#include "agreement.hpp"
#include "fabric/library.hpp"
#include "lanes/appliance.hpp"
#include "lanes/general_purpose.hpp"
#include "lanes/messages.hpp"
#include "lanes/provider_choice.hpp"

#include <cerrno>
#include <cstring>

namespace rpmem {
namespace {

// The header of a pool, which only rpmem_set_attr() writes.
constexpr std::size_t header_size = 4096;

// How long a lane waits for what explains why the link was lost.
constexpr std::chrono::milliseconds explanation_time(3000);

constexpr std::size_t nothing_writable = SIZE_MAX; // Pool::first_writable_ of a read-only session

bool has_header(const rpmem_pool_attr& attributes) {
    static constexpr rpmem_pool_attr none{};
    return std::memcmp(&attributes, &none, sizeof(none)) != 0;
}

bool may_use_sockets_of_ip(const Settings& own) { return own.enable_tcp || own.enable_sockets; }

} // namespace

Result<fabric::Provider> Pool::start_session(const PoolArguments& arguments) {
    auto target = parse_target(arguments.target);
    if (!target)
        return propagate(std::move(target));
    host_ = target->host;
    route_ =
        std::make_unique<Route>(*target, LocalMemory{arguments.address, arguments.size}, settings_);
    ProviderSearch& search = route_->search();
    if (settings_.ssh_transport == SshTransport::libssh2)
        search.start_thread(); // this one logs in
    const bool hopeless = !may_use_rdma(settings_) && !may_use_sockets_of_ip(settings_);
    if (hopeless && !search.found())
        return Failure(search.found().error());
    auto session = Session::start(*target, arguments.command, route_->begins_with_ipv4(), settings_,
                                  fabric::start_library);
    // Where only RDMA may serve, what keeps it from that explains more than a failed login.
    if (!session && (may_use_sockets_of_ip(settings_) || search.found()))
        return propagate(std::move(session));
    if (!session)
        return Failure(search.found().error());
    session_ = std::move(*session);
    auto choice = route_->choose(*session_);
    if (!choice)
        return propagate(std::move(choice));
    fabric::Provider agreed = std::move(choice->provider);
    way_ = fabric::describe(agreed);
    if (agreed.kind == fabric::ProviderKind::verbs) {
        notes_ = std::move(choice->notes);
    } else {
        way_ += fmt::format(" ({})", choice->why_not_others);
        misses_device_ = settings_.enable_verbs && !settings_.device.empty();
    }
    return agreed;
}

Result<> Pool::connect(const PoolArguments& arguments, const wire::InBandAttributes& in_band,
                       unsigned asked, const wire::MessageRules& messages,
                       fabric::ProviderKind kind) {
    RPMEM_TRY(check_answer(in_band, size_, asked, session_->hello()));
    appliance_ = in_band.method == wire::PersistMethod::appliance;
    if (kind == fabric::ProviderKind::tcp && session_->holds(wire::condition_no_appliance_over_tcp))
        warnings_.emplace_back(appliance::not_over_tcp);
    auto monitor = Monitor::make(*session_);
    if (!monitor)
        return propagate(std::move(monitor));
    monitor_ = std::move(*monitor);
    auto connection =
        route_->connect(kind, {.host = {},
                               .port = static_cast<std::uint16_t>(in_band.port),
                               .pool = arguments.address,
                               .pool_size = arguments.size,
                               .remote = {in_band.raddr, in_band.rkey},
                               .messages_only = in_band.method == wire::PersistMethod::messages,
                               .lanes = in_band.lanes,
                               .messages = messages,
                               .alarm = {monitor_->wake_fd(), [this] { return sees_loss(); }},
                               .session_fd = session_->output_fd(),
                               .token = lane_token(session_->hello())});
    if (!connection) {
        Error error = std::move(connection).error();
        if (const auto why = loss_behind(error)) {
            error.code = why->code;
            error.text += "; " + why->text;
        }
        return Failure(std::move(error));
    }
    connection_ = std::move(*connection);
    lane_count_ = connection_->lanes();
    if (const LaneAddress& used = route_->address(); used.host != host_)
        way_ += fmt::format(", to {} ({})", used.host, used.source);
    route_.reset();
    if (const fabric::EventQueue* const events = connection_->events())
        monitor_->start(*events);
    out_of_dumps_.emplace(std::span(arguments.address, arguments.size));
    in_children_.emplace(
        [](void* owner) {
            auto& pool = *static_cast<Pool*>(owner);
            pool.monitor_->become_inherited();
            pool.session_->let_go();
        },
        this);
    return {};
}

Result<std::unique_ptr<Pool>> Pool::create(const PoolArguments& arguments,
                                           const rpmem_pool_attr& attributes,
                                           const Settings& settings) {
    std::unique_ptr<Pool> pool(new Pool(arguments.size, settings));
    const auto provider = pool->start_session(arguments);
    if (!provider)
        return Failure(provider.error());
    const unsigned asked =
        lanes_to_ask(arguments.lanes, *provider, settings, pool->session_->hello());
    const wire::MessageRules messages = agree_on_messages(
        pool->session_->hello(), asked, settings.inline_size, buffers_behind(*provider));
    const auto response =
        pool->session_->create({arguments.size, asked, on_the_wire(provider->kind),
                                messages.inline_size, attributes, arguments.pool_set});
    if (!response)
        return Failure(response.error());
    pool->first_writable_ = has_header(attributes) ? header_size : 0;
    pool->is_half_made_ = true;
    RPMEM_TRY(pool->connect(arguments, response->in_band, asked, messages, provider->kind));
    pool->is_half_made_ = false;
    return pool;
}

Result<std::unique_ptr<Pool>> Pool::open(const PoolArguments& arguments,
                                         rpmem_pool_attr* attributes, const Settings& settings) {
    std::unique_ptr<Pool> pool(new Pool(arguments.size, settings));
    const auto provider = pool->start_session(arguments);
    if (!provider)
        return Failure(provider.error());
    const unsigned asked =
        lanes_to_ask(arguments.lanes, *provider, settings, pool->session_->hello());
    const wire::MessageRules messages = agree_on_messages(
        pool->session_->hello(), asked, settings.inline_size, buffers_behind(*provider));
    const auto response = pool->session_->open({arguments.size, asked, on_the_wire(provider->kind),
                                                messages.inline_size, arguments.pool_set});
    if (!response)
        return Failure(response.error());
    const bool read_only = pool->session_->holds(wire::condition_read_only);
    const std::size_t header = has_header(response->attributes) ? header_size : 0;
    pool->first_writable_ = read_only ? nothing_writable : header;
    RPMEM_TRY(pool->connect(arguments, response->in_band, asked, messages, provider->kind));
    if (attributes)
        *attributes = response->attributes;
    return pool;
}

Pool::~Pool() {
    in_children_.reset();
    if (monitor_)
        monitor_->stop();
    connection_.reset();
    if (is_half_made_)
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

int Pool::drain(Lane& lane) const {
    return appliance_ ? appliance::drain(lane) : general_purpose::drain(lane);
}

// OPERATE is given the lane, connected, and returns what Lane's operations do.
template <typename Operate>
Result<> Pool::on_lane(const char* call, unsigned index, Operate operate) {
    Lane* lane = connection_->lane(index);
    if (!lane) {
        auto connected = connection_->use_lane(index);
        if (!connected)
            return loss_behind(connected.error())
                       ? lost(call)
                       : Failure(in_context(call, std::move(connected).error()));
        lane = *connected;
    }
    return concluded(call, *lane, operate(*lane));
}

// Why the session is lost, if that is why a lane could not be connected.
std::optional<Error> Pool::loss_behind(const Error& error) {
    const bool may_be_early = error.kind == ErrorClass::link_lost && error.code != ETIMEDOUT;
    return monitor_->reason(may_be_early ? explanation_time : std::chrono::milliseconds(0));
}

Result<> Pool::persist(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    if (!is_writable(offset, length, lane, flags)) [[unlikely]]
        return bad_range("rpmem_persist", offset, length, lane, flags);
    if (monitor_->lost()) [[unlikely]]
        return lost("rpmem_persist");
    if (length == 0) [[unlikely]]
        return unless_lost("rpmem_persist");
    const bool relaxed = (flags & RPMEM_PERSIST_RELAXED) != 0;
    return on_lane("rpmem_persist", lane, [&](Lane& own) {
        return appliance_ ? appliance::persist(own, offset, length, relaxed)
                          : general_purpose::persist(own, offset, length, relaxed);
    });
}

Result<> Pool::deep_persist(std::size_t offset, std::size_t length, unsigned lane) {
    if (!is_writable(offset, length, lane, 0))
        return bad_range("rpmem_deep_persist", offset, length, lane, 0);
    if (monitor_->lost())
        return lost("rpmem_deep_persist");
    if (length == 0)
        return unless_lost("rpmem_deep_persist");
    return on_lane("rpmem_deep_persist", lane, [&](Lane& own) {
        return appliance_ ? appliance::deep_persist(own, offset, length)
                          : general_purpose::deep_persist(own, offset, length);
    });
}

Result<> Pool::flush(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    if (!is_writable(offset, length, lane, flags))
        return bad_range("rpmem_flush", offset, length, lane, flags);
    if (monitor_->lost())
        return lost("rpmem_flush");
    if (length == 0)
        return unless_lost("rpmem_flush");
    const bool relaxed = (flags & RPMEM_FLUSH_RELAXED) != 0;
    return on_lane("rpmem_flush", lane, [&](Lane& own) {
        return appliance_ ? appliance::flush(own, offset, length, relaxed)
                          : general_purpose::flush(own, offset, length, relaxed);
    });
}

Result<> Pool::drain(unsigned lane, unsigned flags) {
    if (flags != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_drain: flags {:#x} are not known; 0 is the only value", flags);
    if (lane >= lane_count_)
        return bad_lane("rpmem_drain", lane);
    if (monitor_->lost())
        return lost("rpmem_drain");
    Lane* const own = connection_->lane(lane);
    const bool owes =
        own && (own->awaits_answers() || (appliance_ && own->has_unconfirmed_writes()));
    return owes ? concluded("rpmem_drain", *own, drain(*own)) : unless_lost("rpmem_drain");
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
                   [&](Lane& own) { return own.read(destination, offset, length); });
}

Result<> Pool::set_attributes(const rpmem_pool_attr& attributes) {
    if (first_writable_ == nothing_writable)
        return bad_range("rpmem_set_attr", 0, header_size, 0, 0);
    if (monitor_->find_lost())
        return lost("rpmem_set_attr");
    return concluded("rpmem_set_attr", session_->set_attributes({attributes}));
}

Result<> Pool::close() {
    in_children_.reset();
    Result<> drained = unless_lost("rpmem_close");
    for (unsigned lane = 0; lane < lane_count_ && drained; ++lane)
        if (Lane* const own = connection_->lane(lane))
            drained = concluded("rpmem_close", *own, drain(*own));
    monitor_->stop();
    connection_.reset();
    return drained ? concluded("rpmem_close", session_->close()) : drained;
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
Result<> Pool::concluded(const char* call, Result<> asked) {
    if (asked || asked.error().kind == ErrorClass::target_refused)
        return asked;
    monitor_->declare_lost(asked.error());
    if (asked.error().code == ETIMEDOUT)
        return in_context(call, std::move(asked).error());
    return lost(call);
}

Failure Pool::broken(const char* call, const Lane& lane, int code) {
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
    if (!monitor_->reason(explanation_time))
        monitor_->declare_lost(session_->ending("a lane failed: " + std::string(strerror(code))));
    return lost(call);
}

} // namespace rpmem
