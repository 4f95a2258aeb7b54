#include "session.hpp"

#include "medium/medium.hpp"
#include "store_options.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>

namespace rpmem::target {
namespace {

tl::unexpected<Refusal> refuse(wire::Status status, std::string reason) {
    return tl::unexpected(Refusal{status, std::move(reason)});
}

tl::unexpected<Refusal> refuse(const Error& error) { return refuse(status_of(error), error.text); }

std::optional<fabric::ProviderKind> kind_of(wire::Provider provider, const Agreement& agreement) {
    switch (provider) {
    case wire::Provider::verbs:
        return fabric::ProviderKind::verbs;
    case wire::Provider::sockets:
        return fabric::ProviderKind::sockets;
    case wire::Provider::tcp:
        if (agreement.knows_hello)
            return fabric::ProviderKind::tcp;
        break;
    }
    return std::nullopt;
}

constexpr const char* danger_of_sockets =
    "through libfabric's sockets whoever reaches the port can end a session or make it hang, and a "
    "client can write outside of its pool";

// A device writes past the caches if it is told to; with tcp it is the processor that writes.
// Peers of protocol 0.1 get over sockets what 1.12.1's daemon gives them: the operator's word.
bool appliance_reaches_medium(fabric::ProviderKind kind) {
    return kind != fabric::ProviderKind::tcp || caches_are_durable();
}

// A descriptor of our own: syslog(3) takes locks, which a handler of signals may not.
UniqueFd connect_to_syslog() {
    UniqueFd log(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, _PATH_LOG, sizeof(address.sun_path) - 1);
    if (::connect(log.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        log.reset();
    return log;
}

} // namespace

Session::~Session() {
    if (!pool_)
        return;
    // Whoever had this pool made has gone without CLOSE, and never reached it by a lane: its create
    // has failed.
    const bool remove = created_here_ && !(lanes_ && lanes_->ready());
    lanes_.reset();
    fault_guard_.reset();
    const Result<> done = remove ? pool_->undo_create() : pool_->close();
    if (remove)
        log_.notice(
            "removed the pool: it was created in this session, and its lanes never came up");
    if (!done)
        log_.error("{}", done.error().text);
}

int Session::milliseconds_to_connect() const {
    if (!connect_deadline_ || !lanes_ || lanes_->ready())
        return std::numeric_limits<int>::max();
    return connect_deadline_->poll_timeout();
}

StoreOptions Session::store_options() {
    StoreOptions options = store_options_of(configuration_, peer_gone_);
    options.failures = &failures_;
    return options;
}

std::optional<Refusal> Session::check(const PoolRequest& request) const {
    if (pool_)
        return Refusal{wire::Status::fatal, "this session has a pool already"};
    if (request.lanes == 0)
        return Refusal{wire::Status::bad_lanes, "0 lanes were asked for; at least 1 is needed"};
    if (!kind_of(request.provider, agreement_))
        return Refusal{
            wire::Status::bad_provider,
            fmt::format("provider number {} is not known; 1 is verbs, 2 is sockets, 3 (after a "
                        "hello) is tcp",
                        static_cast<std::uint32_t>(request.provider))};
    if (request.provider == wire::Provider::sockets && !configuration_.sockets)
        return Refusal{wire::Status::provider_not_supported,
                       fmt::format("the provider sockets is switched off: {}; if no stranger "
                                   "reaches this machine, set \"sockets = yes\" in "
                                   "/etc/rpmemd/rpmemd.conf or ~/.rpmemd.conf of the target",
                                   danger_of_sockets)};
    if (request.inline_size > most_inline_bytes)
        return Refusal{wire::Status::bad_protocol,
                       fmt::format("messages of {} bytes of inline data were asked for; the limit "
                                   "is {}",
                                   request.inline_size, most_inline_bytes)};
    if (agreement_.messages_only && request.inline_size < wire::least_inline_size)
        return Refusal{wire::Status::bad_protocol,
                       fmt::format("messages of {} bytes of inline data were asked for; where they "
                                   "may be the only way, {} is the least",
                                   request.inline_size, wire::least_inline_size)};
    if (own_address_.empty())
        return Refusal{
            wire::Status::fatal_connection,
            "SSH_CONNECTION is not set, or its third field is no address: the address to "
            "listen on is not known; start rpmemd through ssh"};
    return std::nullopt;
}

tl::expected<wire::InBandAttributes, Refusal> Session::create(const PoolRequest& request,
                                                              const rpmem_pool_attr& attributes) {
    if (auto refusal = check(request))
        return tl::unexpected(std::move(*refusal));
    if (configuration_.read_only)
        return refuse(wire::Status::no_access,
                      "this session may only read (read-only), and not create a pool");
    auto pool = create_pool(store_options(), request.pool_set, request.pool_size, attributes, log_);
    if (!pool)
        return refuse(pool.error());
    pool_.emplace(std::move(*pool));
    created_here_ = true;
    auto served = serve(request);
    if (!served) {
        if (const auto undone = pool_->undo_create(); !undone)
            log_.error("{}", undone.error().text);
        pool_.reset();
    }
    return served;
}

tl::expected<wire::InBandAttributes, Refusal> Session::open(const PoolRequest& request) {
    if (auto refusal = check(request))
        return tl::unexpected(std::move(*refusal));
    auto pool = open_pool(store_options(), request.pool_set, request.pool_size, log_);
    if (!pool)
        return refuse(pool.error());
    pool_.emplace(std::move(*pool));
    auto served = serve(request);
    if (!served) {
        if (const auto closed = pool_->close(); !closed)
            log_.error("{}", closed.error().text);
        pool_.reset();
    }
    return served;
}

PoolAccess Session::access() const {
    if (!agreement_.messages_only || !configuration_.persist_general)
        return PoolAccess::direct;
    return configuration_.direct_access ? PoolAccess::direct_if_can : PoolAccess::messages;
}

wire::PersistMethod Session::persist_method() const {
    if (lanes_->messages_only())
        return wire::PersistMethod::messages;
    // Without its own CPU at work the target can only promise durability for persistent memory.
    return configuration_.persist_apm && appliance_reaches_medium(lanes_->provider().kind) &&
                   (pool_->is_pmem() || !configuration_.persist_general)
               ? wire::PersistMethod::appliance
               : wire::PersistMethod::general_purpose;
}

tl::expected<wire::InBandAttributes, Refusal> Session::serve(const PoolRequest& request) {
    if (!configuration_.persist_general && !pool_->is_pmem())
        return refuse(wire::Status::fatal,
                      fmt::format("the pool {} is not on persistent memory, and the configuration "
                                  "allows only the appliance method (persist-general = no)",
                                  request.pool_set));
    const fabric::ProviderKind kind = *kind_of(request.provider, agreement_);
    if (!configuration_.persist_general && !appliance_reaches_medium(kind))
        return refuse(wire::Status::fatal,
                      "over tcp data stay in the processor's caches, which are lost with the power "
                      "here, and the configuration allows only the appliance method "
                      "(persist-general = no)");
    if (!configuration_.direct_access && !agreement_.messages_only)
        return refuse(
            wire::Status::fatal,
            "the configuration allows no direct access to pools (direct-access = no), and "
            "this client, of protocol 0.1, knows no other way");
    const Persister persister(pool_->medium());
    const wire::MessageRules messages{
        request.inline_size,
        agreement_.messages,
        agreement_.counted_answers,
        agreement_.late_answers,
        agreement_.several_windows ? wire::window_count(request.inline_size) : 1,
        agreement_.processors,
        agreement_.gathering};
    auto lanes =
        LaneServer::start({.provider = kind,
                           .address = own_address_,
                           .device = configuration_.device,
                           .lanes = request.lanes,
                           .messages = messages,
                           .workers = configuration_.threads,
                           .spin_time = std::chrono::microseconds(configuration_.spin_time),
                           .paging = configuration_.paging,
                           .token = agreement_.lane_token,
                           .access = access(),
                           .read_only = configuration_.read_only,
                           .further_addresses = configuration_.addresses},
                          pool_->address(), pool_->size(), persister, log_);
    if (!lanes) {
        const bool missing = lanes.error().code == ENODATA;
        return refuse(missing ? wire::Status::provider_not_supported : wire::Status::fatal,
                      lanes.error().text);
    }
    lanes_ = std::move(*lanes);
    connect_deadline_.emplace(configuration_.accept_timeout);
    guard_memory(); // behind libfabric, whose libraries may have handlers of their own
    const wire::PersistMethod method = persist_method();
    log_policy(method, persister);
    warn_about(kind);
    log_.notice("pool {}: {} bytes, {} lanes, {} workers, provider {}, port {}", request.pool_set,
                pool_->size(), lanes_->lanes(), lanes_->workers(),
                fabric::describe(lanes_->provider()), lanes_->port());
    return wire::InBandAttributes{lanes_->port(), method, lanes_->key(), lanes_->remote_base(),
                                  lanes_->lanes()};
}

void Session::warn_about(fabric::ProviderKind kind) const {
    if (kind == fabric::ProviderKind::sockets)
        log_.warning("this session uses the provider sockets: {}", danger_of_sockets);
    if (configuration_.persist_apm && !appliance_reaches_medium(kind))
        log_.warning("persist-apm is set, and this session uses the general purpose method: over "
                     "tcp data stay in the processor's caches, which are lost with the power here");
}

void Session::guard_memory() {
    FaultChannels channels{STDERR_FILENO, STDOUT_FILENO, {}, {}};
    if (configuration_.use_syslog) {
        channels.log = connect_to_syslog();
        channels.log_prefix = fmt::format("<{}>", LOG_DAEMON | LOG_ERR);
    } else {
        channels.log.reset(::open(configuration_.log_file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC |
                                                                       O_NOFOLLOW | O_NOCTTY |
                                                                       O_NONBLOCK));
    }
    fault_guard_.reset(); // there is one at a time
    fault_guard_.emplace(pool_->medium().parts(), std::move(channels));
    // Where libfabric lets the kernel copy from the pool, nobody hears of a fault.
    changes_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    for (const PartInMemory& part : pool_->medium().parts())
        static_cast<void>(::inotify_add_watch(changes_.get(), part.path.c_str(), IN_MODIFY));
}

void Session::look_for_truncated_parts() const {
    std::array<std::byte, 4096> events;
    while (::read(changes_.get(), events.data(), events.size()) > 0) {
    }
    if (pool_)
        pool_->medium().look_for_truncated();
}

void Session::log_policy(wire::PersistMethod method, const Persister& persister) const {
    const bool appliance = method == wire::PersistMethod::appliance;
    log_.notice("persistency policy:");
    log_.notice("    persist method: {}", appliance ? "Appliance Persistency Method"
                                                    : "General Purpose Server Persistency Method");
    log_.notice("    persist flush: {}", appliance ? "none" : name_of(persister.means()));
    if (method == wire::PersistMethod::messages)
        log_.notice("    access: by messages only");
}

tl::expected<void, Refusal> Session::set_attributes(const rpmem_pool_attr& attributes) {
    if (!pool_)
        return refuse(wire::Status::bad_protocol, "SET_ATTR came before a pool was opened");
    if (const auto set = pool_->set_attributes(attributes); !set)
        return refuse(set.error());
    return {};
}

tl::expected<void, Refusal> Session::close(bool remove) {
    if (!pool_)
        return refuse(wire::Status::fatal, "CLOSE came before a pool was opened");
    lanes_.reset();
    fault_guard_.reset();
    const bool forbidden = remove && !created_here_ && !configuration_.may_delete;
    Result<> done;
    if (remove && !forbidden)
        done = created_here_ ? pool_->undo_create() : pool_->remove();
    else
        done = pool_->close();
    if (const auto failure = pool_->medium_failure())
        failures_.set(*failure);
    pool_.reset();
    if (!done)
        return refuse(done.error());
    if (forbidden)
        return refuse(wire::Status::no_access,
                      "the pool was closed and not deleted: this key may not delete pools that it "
                      "has not made (--allow-remove in the command of its line in "
                      "authorized_keys lets it)");
    return {};
}

} // namespace rpmem::target
