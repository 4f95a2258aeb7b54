// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/pool.hpp"

#include "librpmem/pool_attributes.hpp"
#include "librpmem/repeated_calls.hpp"

#include <cerrno>

namespace rpmem::initiator {
namespace {

// Bytes of the header of a pool. Only rpmem_create() and rpmem_set_attr() write it.
constexpr std::size_t header_size = 4096;

// rpmem_close() starts attempts to reconnect for at most this time.
constexpr std::chrono::milliseconds close_time(4000);

constexpr const char* missing_writes =
    "; writes that were flushed and not acknowledged may be missing from the replica";
constexpr const char* nothing_missing =
    "; every write was acknowledged, so none is missing from the replica; the target does not know "
    "that the pool is closed";

} // namespace

Result<std::unique_ptr<Pool>> Pool::create(const PoolArguments& arguments,
                                           const rpmem_pool_attr& attributes,
                                           const Settings& settings, const PoolServices& services) {
    std::unique_ptr<Pool> pool(new Pool(arguments, settings));
    RPMEM_ASSIGN(auto connection, Connection::log_in(pool->arguments_, settings));
    RPMEM_ASSIGN(const auto response, connection->create(attributes));
    pool->first_writable_ = has_header(attributes) ? header_size : 0;
    pool->is_created_ = true;
    RPMEM_TRY(pool->adopt(std::move(connection), response.in_band, attributes, services));
    return pool;
}

Result<std::unique_ptr<Pool>> Pool::open(const PoolArguments& arguments,
                                         rpmem_pool_attr* attributes, const Settings& settings,
                                         const PoolServices& services) {
    std::unique_ptr<Pool> pool(new Pool(arguments, settings));
    RPMEM_ASSIGN(auto connection, Connection::log_in(pool->arguments_, settings));
    RPMEM_ASSIGN(const auto response, connection->open());
    const std::size_t header = has_header(response.attributes) ? header_size : 0;
    pool->first_writable_ = connection->is_read_only() ? nothing_writable : header;
    RPMEM_TRY(pool->adopt(std::move(connection), response.in_band, response.attributes, services));
    RPMEM_ASSIGN(const auto kept, pool->kept_attributes_->send_earlier(pool->sending_attributes()));
    if (attributes)
        *attributes = kept.value_or(response.attributes);
    return pool;
}

Result<> Pool::adopt(std::shared_ptr<Connection> connection, const wire::InBandAttributes& in_band,
                     const rpmem_pool_attr& attributes, const PoolServices& services) {
    std::optional<transport::Secret> takeover;
    if (connection->can_resume()) {
        RPMEM_ASSIGN(takeover, connection->takeover_key());
    }
    // Refuse the session before a lane is connected. Then it cannot have written, and the record of
    // the target still names the source of the replica as the last writer.
    prepare_equalizer(*connection, attributes, services);
    RPMEM_TRY(equalizer_->may_open());
    RPMEM_TRY(connection->connect(in_band));
    facts_ = connection->facts();
    host_ = connection->host();
    RPMEM_ASSIGN(const unsigned granted, lanes_for_program(*connection));
    lanes_ = LaneSet(granted);
    unconfirmed_.resize(lanes());
    RPMEM_ASSIGN(counters_, PoolCounters::make(lanes()));
    link_ = std::make_unique<Link>(arguments_, settings_, services, counters_,
                                   std::move(connection), std::move(takeover));
    RPMEM_TRY(link_->start());
    RPMEM_TRY(start_catch_up(services.log, services.control));
    in_children_.emplace(
        [](void* owner) {
            auto& pool = *static_cast<Pool*>(owner);
            pool.inherited_ = true;
            pool.link_->release_in_child();
            pool.lanes_.release_in_child();
        },
        this);
    return {};
}

void Pool::prepare_equalizer(Connection& connection, const rpmem_pool_attr& attributes,
                             const PoolServices& services) {
    const OpenedPool opened{.memory = {arguments_.address, arguments_.size},
                            .first_writable = first_writable_,
                            .attributes = attributes,
                            .name = fmt::format("{}:{}", arguments_.target, arguments_.pool_set),
                            .is_created = is_created_,
                            .state = connection.session().pool_state(),
                            .claim = connection.pool_claim()};
    equalizer_ = std::make_unique<Equalizer>(opened, settings_, services.log);
    kept_attributes_.emplace(*equalizer_, services.log);
}

// Takes no lock, because in a child the thread that held it may not exist.
Result<> Pool::refuse_in_child(const char* call) const {
    if (inherited())
        return fail(ErrorClass::caller_fault, EPERM,
                    "{}: the pool belongs to the process that opened it, and this is a child that "
                    "it made by fork(2); a child may only close it, and open pools of its own",
                    call);
    return {};
}

Result<std::shared_ptr<Connection>> Pool::connection(const char* call, CallBound& bound) {
    RPMEM_TRY(refuse_in_child(call));
    return in_context(call, link_->connection(bound));
}

// Like connection(), but checks for a loss first, because the call uses no lane that would notice.
Result<std::shared_ptr<Connection>> Pool::look(const char* call, CallBound& bound) {
    RPMEM_ASSIGN(auto connection, this->connection(call, bound));
    if (!connection->monitor().find_lost())
        return connection;
    return this->connection(call, bound);
}

// Checks for a loss in a call that has nothing to send.
Result<> Pool::check_link(const char* call, CallBound& bound) {
    const auto connection = look(call, bound);
    if (connection || (replica_ && connection.error().code == ENOTCONN))
        return {};
    return Failure(connection.error());
}

template <typename Operate>
Result<> Pool::counted(CallKind call, unsigned lane, std::size_t length, Operate operate) {
    const std::uint64_t began = statistics::ticks();
    RPMEM_TRY(operate());
    count(call, lane, length, began);
    return {};
}

// Like on_lane(), for a call that makes OWN and everything before it on the lane durable. While the
// program goes on without the target, marks these ranges instead. If the replica joins before that,
// the next iteration sends them.
template <typename Operate>
Result<> Pool::on_replica(const char* call, unsigned index, const PoolRange& own, CallBound& bound,
                          Operate operate) {
    if (!replica_) [[likely]]
        return on_lane(call, index, own, bound, operate);
    RPMEM_TRY(refuse_in_child(call));
    while (true) {
        if (!replica_->lacks_calls()) {
            Result<> done = on_lane(call, index, own, bound, operate);
            if (done || done.error().code != ENOTCONN)
                return done;
        }
        leave(index);
        if (replica_->mark(index, own, unconfirmed_[index]))
            return {};
    }
}

// Like on_lane(), for a call that writes a range. Checks the range first.
template <typename Operate>
Result<> Pool::on_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                        unsigned flags, Operate operate) {
    if (!is_writable(offset, length, lane, flags)) [[unlikely]]
        return bad_range(call, offset, length, lane, flags);
    CallBound bound;
    if (length == 0) [[unlikely]]
        return check_link(call, bound);
    if (equalizer_->is_pending()) [[unlikely]]
        RPMEM_TRY(equalize(call, lane, bound));
    return on_replica(call, lane, {offset, length}, bound, operate);
}

Result<> Pool::persist(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    const bool relaxed = (flags & RPMEM_PERSIST_RELAXED) != 0;
    return counted(CallKind::persist, lane, length, [&] {
        return on_range("rpmem_persist", offset, length, lane, flags,
                        [&](FrameLane& own) { return own.persist(offset, length, relaxed); });
    });
}

Result<> Pool::deep_persist(std::size_t offset, std::size_t length, unsigned lane) {
    return counted(CallKind::deep_persist, lane, length, [&] {
        return on_range("rpmem_deep_persist", offset, length, lane, 0,
                        [&](FrameLane& own) { return own.deep_persist(offset, length); });
    });
}

Result<> Pool::flush(std::size_t offset, std::size_t length, unsigned lane, unsigned flags) {
    const bool relaxed = (flags & RPMEM_FLUSH_RELAXED) != 0;
    return counted(CallKind::flush, lane, length, [&] {
        return on_range("rpmem_flush", offset, length, lane, flags,
                        [&](FrameLane& own) { return own.flush(offset, length, relaxed); });
    });
}

Result<> Pool::drain(unsigned lane, unsigned flags) {
    if (flags != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_drain: flags {:#x} are not supported; use 0", flags);
    if (lane >= lanes())
        return bad_lane("rpmem_drain", lane);
    return counted(CallKind::drain, lane, 0, [&] {
        CallBound bound;
        if (!has_unacknowledged(lane))
            return check_link("rpmem_drain", bound);
        return on_replica("rpmem_drain", lane, {}, bound,
                          [](FrameLane& own) { return own.drain(); });
    });
}

Result<> Pool::read(std::byte* destination, std::size_t offset, std::size_t length, unsigned lane) {
    if (lane >= lanes())
        return bad_lane("rpmem_read", lane);
    if (offset >= size_of_pool() || length > size_of_pool() - offset)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_read: {} bytes at offset {} are not within the pool of {} bytes", length,
                    offset, size_of_pool());
    RPMEM_TRY(refuse_in_child("rpmem_read"));
    CallBound bound;
    if (replica_ && replica_->lacks_calls()) // a read that fails must not end the proof
        RPMEM_TRY(connection("rpmem_read", bound).map([](const auto&) {}));
    RPMEM_TRY(in_context("rpmem_read", equalizer_->before_read({destination, length})));
    Result<> done = counted(CallKind::read, lane, length, [&] {
        return on_lane("rpmem_read", lane, {}, bound,
                       [&](FrameLane& own) { return own.read(destination, offset, length); });
    });
    if (equalizer_->is_pending())
        lanes_.leave(lane); // its next write must come through on_range()
    return done;
}

Result<> Pool::set_attributes(const rpmem_pool_attr& attributes) {
    if (first_writable_ == nothing_writable)
        return bad_range("rpmem_set_attr", 0, header_size, 0, 0);
    {
        const std::lock_guard lock(equalizer_->mutex());
        RPMEM_TRY(in_context("rpmem_set_attr", equalizer_->check_accepted()));
    }
    return kept_attributes_->set(attributes, sending_attributes());
}

// Sends attributes in the present session, or in the next one.
KeptAttributes::Send Pool::sending_attributes() {
    return [this](const rpmem_pool_attr& attributes) {
        CallBound bound;
        return on_session("rpmem_set_attr", bound, [&](Connection& connection) {
            return connection.session().set_attributes({attributes});
        });
    };
}

Result<> Pool::close() {
    in_children_.reset();
    link_->refuse_steering();
    link_->limit_reconnecting(close_time);
    CallBound bound;
    if (closes_alone(close_time))
        return {};
    commit();
    Result<> drained = look("rpmem_close", bound).map([](const auto&) {});
    for (unsigned lane = 0; lane < lanes() && drained; ++lane)
        if (has_unacknowledged(lane))
            drained =
                on_lane("rpmem_close", lane, {}, bound, [](FrameLane& own) { return own.drain(); });
    if (drained && catch_up_ && catch_up_->owes_record())
        drained = record_in_sync("rpmem_close", bound);
    bool misses_writes = false;
    for (unsigned lane = 0; lane < lanes(); ++lane)
        misses_writes = misses_writes || has_unacknowledged(lane);
    lanes_.clear();
    Result<> closed = drained
                          ? on_session("rpmem_close", bound,
                                       [](Connection& connection) { return connection.close(); })
                          : std::move(drained);
    if (!closed && closed.error().code == ENOTCONN && replica_) {
        catch_up_->log_closed_alone();
        return {};
    }
    if (!closed && closed.error().kind == ErrorClass::link_lost)
        closed.error().text += misses_writes ? missing_writes : nothing_missing;
    return closed;
}

Result<PoolSnapshot> Pool::statistics() const {
    if (inherited())
        return fail(ErrorClass::caller_fault, EPERM,
                    "rpmem_stats: the pool belongs to the process that opened it, and this is a "
                    "child that it made by fork(2)");
    return link_->statistics();
}

Failure Pool::bad_lane(const char* call, unsigned lane) const {
    return fail(ErrorClass::caller_fault, EINVAL,
                "{}: there is no lane {}; the lanes of this pool are 0 to {}", call, lane,
                lanes() - 1);
}

Failure Pool::bad_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                        unsigned flags) const {
    if ((flags & ~RPMEM_PERSIST_RELAXED) != 0)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "{}: flags {:#x} are not supported; use 0 or 1 (relaxed)", call, flags);
    if (lane >= lanes())
        return bad_lane(call, lane);
    if (first_writable_ == nothing_writable)
        return fail(ErrorClass::caller_fault, EACCES,
                    "{}: {} serves this pool for reading only (--read-only of rpmemd: in RPMEM_CMD "
                    "here, or in the command that sshd runs there for this login)",
                    call, host_);
    if (offset < first_writable_)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "{}: offset {} is within the first {} bytes, where the target keeps the pool's "
                    "header; rpmem_set_attr() writes it",
                    call, offset, header_size);
    return fail(ErrorClass::caller_fault, EINVAL,
                "{}: {} bytes at offset {} are not within the pool of {} bytes", call, length,
                offset, size_of_pool());
}

} // namespace rpmem::initiator
