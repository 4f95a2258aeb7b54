// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/pool.hpp"

#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

// The header of a pool, which only rpmem_set_attr() writes.
constexpr std::size_t header_size = 4096;

// rpmem_close() tries no longer to reconnect.
constexpr std::chrono::milliseconds close_time(4000);

constexpr std::size_t nothing_writable = SIZE_MAX; // Pool::first_writable_ of a read-only session

bool has_header(const rpmem_pool_attr& attributes) {
    static constexpr rpmem_pool_attr none{};
    return std::memcmp(&attributes, &none, sizeof(none)) != 0;
}

} // namespace

Result<std::unique_ptr<Pool>> Pool::create(const PoolArguments& arguments,
                                           const rpmem_pool_attr& attributes,
                                           const Settings& settings, const PoolServices& services) {
    std::unique_ptr<Pool> pool(new Pool(arguments, settings));
    RPMEM_ASSIGN(auto association, Association::log_in(arguments, settings));
    RPMEM_ASSIGN(const auto response, association->create(attributes));
    pool->first_writable_ = has_header(attributes) ? header_size : 0;
    RPMEM_TRY(pool->take_up(std::move(association), response.in_band, services));
    return pool;
}

Result<std::unique_ptr<Pool>> Pool::open(const PoolArguments& arguments,
                                         rpmem_pool_attr* attributes, const Settings& settings,
                                         const PoolServices& services) {
    std::unique_ptr<Pool> pool(new Pool(arguments, settings));
    RPMEM_ASSIGN(auto association, Association::log_in(arguments, settings));
    RPMEM_ASSIGN(const auto response, association->open());
    const std::size_t header = has_header(response.attributes) ? header_size : 0;
    pool->first_writable_ = association->is_read_only() ? nothing_writable : header;
    RPMEM_TRY(pool->take_up(std::move(association), response.in_band, services));
    if (attributes)
        *attributes = response.attributes;
    return pool;
}

Result<> Pool::take_up(std::shared_ptr<Association> association,
                       const wire::InBandAttributes& in_band, const PoolServices& services) {
    std::optional<transport::Secret> takeover;
    if (association->can_resume()) {
        RPMEM_ASSIGN(takeover, association->takeover_key());
    }
    RPMEM_TRY(association->connect(in_band));
    facts_ = association->facts();
    host_ = association->host();
    lane_count_ = association->lanes().lanes();
    slots_ = std::make_unique<LaneSlot[]>(lane_count_);
    RPMEM_ASSIGN(counters_, PoolCounters::make(lane_count_));
    link_ = std::make_unique<Link>(arguments_, settings_, services, counters_,
                                   std::move(association), std::move(takeover));
    RPMEM_TRY(link_->start());
    out_of_dumps_.emplace(std::span(arguments_.address, arguments_.size));
    in_children_.emplace(
        [](void* owner) {
            auto& pool = *static_cast<Pool*>(owner);
            pool.inherited_ = true;
            pool.link_->release_in_child();
            for (unsigned index = 0; index < pool.lane_count_; ++index)
                if (Association* const own = pool.slots_[index].association.get())
                    own->release_in_child();
        },
        this);
    return {};
}

// The lanes first: they use what their associations have.
Pool::~Pool() {
    in_children_.reset();
    slots_.reset();
}

Result<std::shared_ptr<Association>> Pool::association(const char* call) {
    // Without a lock: whoever held one when the process forked is not here.
    if (inherited())
        return fail(ErrorClass::caller_fault, EPERM,
                    "{}: the pool belongs to the process that opened it, and this is a child that "
                    "it made by fork(2); a child may only close it, and open pools of its own",
                    call);
    return in_context(call, link_->association());
}

// Returns one that was not lost a moment ago.
Result<std::shared_ptr<Association>> Pool::look(const char* call) {
    RPMEM_ASSIGN(auto association, this->association(call));
    if (!association->monitor().find_lost())
        return association;
    return this->association(call);
}

Result<> Pool::make_usable(const char* call, unsigned index) {
    LaneSlot& slot = slots_[index];
    const Deadline patience(link_->most_time());
    // Once in any case: a program that was stopped has lost its session, and its patience with it.
    for (bool is_first = true;; is_first = false) {
        RPMEM_ASSIGN(auto association, this->association(call));
        if (slot.association != association) {
            if (slot.lane)
                slot.lane->add_unconfirmed(slot.unconfirmed);
            slot.lane = nullptr;
            slot.association = std::move(association);
        }
        auto lane = slot.association->lanes().use_lane(index);
        if (!lane) {
            Error error = std::move(lane).error();
            if (slot.association->loss_behind(error))
                continue;
            const bool may_help = error.kind == ErrorClass::link_lost &&
                                  (is_first || !patience.passed()) &&
                                  slot.association->can_reconnect();
            if (!may_help)
                return in_context(call, std::move(error));
            slot.association->monitor().declare_lost(std::move(error));
            continue;
        }
        if (const int code = repeat(**lane, slot.unconfirmed)) {
            RPMEM_TRY(in_context(call, broken(*slot.association, **lane, code)));
            continue;
        }
        slot.unconfirmed.clear();
        slot.lane = *lane;
        slot.lane->count_waits_in(counters_.lane(index).waits);
        slot.monitor = &slot.association->monitor();
        return {};
    }
}

// Sends what the ranges hold now: by the strict way, and all of it durable in the end.
int Pool::repeat(FrameLane& lane, const std::vector<PoolRange>& ranges) {
    for (const PoolRange& range : ranges) {
        if (const int code = lane.flush(range.offset, range.length, false))
            return code;
        link_->count_replayed(range.length);
    }
    return lane.drain();
}

template <typename Operate>
Result<> Pool::counted(CallKind call, unsigned lane, std::size_t length, Operate operate) {
    const std::uint64_t began = statistics::ticks();
    RPMEM_TRY(operate());
    count(call, lane, length, began);
    return {};
}

// OPERATE is given the lane, and returns what its operations do. If the lane is lost meanwhile, the
// operation begins anew on its successor.
template <typename Operate>
Result<> Pool::on_lane(const char* call, unsigned index, Operate operate) {
    const LaneSlot& slot = slots_[index];
    if (!slot.is_usable()) [[unlikely]]
        RPMEM_TRY(make_usable(call, index));
    std::optional<Deadline> patience;
    while (const int code = operate(*slot.lane))
        [[unlikely]] RPMEM_TRY(recover(call, index, code, patience));
    return {};
}

Result<> Pool::recover(const char* call, unsigned index, int code,
                       std::optional<Deadline>& patience) {
    const LaneSlot& slot = slots_[index];
    RPMEM_TRY(in_context(call, broken(*slot.association, *slot.lane, code)));
    if (!patience)
        patience.emplace(link_->most_time());
    else if (patience->passed())
        return fail(ErrorClass::link_lost, ECONNRESET,
                    "{}: the session was lost again and again ({}), the last time because of this: "
                    "{}",
                    call, link_->limit(),
                    slot.monitor->reason(std::chrono::milliseconds(0)).value().text);
    return make_usable(call, index);
}

// As on_lane(), for a range that the lane is to write.
template <typename Operate>
Result<> Pool::on_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                        unsigned flags, Operate operate) {
    if (!is_writable(offset, length, lane, flags)) [[unlikely]]
        return bad_range(call, offset, length, lane, flags);
    if (length == 0) [[unlikely]]
        return look(call).map([](const auto&) {});
    return on_lane(call, lane, operate);
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
                    "rpmem_drain: flags {:#x} are not known; 0 is the only value", flags);
    if (lane >= lane_count_)
        return bad_lane("rpmem_drain", lane);
    return counted(CallKind::drain, lane, 0, [&] {
        if (!slots_[lane].owes())
            return look("rpmem_drain").map([](const auto&) {});
        return on_lane("rpmem_drain", lane, [](FrameLane& own) { return own.drain(); });
    });
}

Result<> Pool::read(std::byte* destination, std::size_t offset, std::size_t length, unsigned lane) {
    if (lane >= lane_count_)
        return bad_lane("rpmem_read", lane);
    if (offset >= size_of_pool() || length > size_of_pool() - offset)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "rpmem_read: {} bytes at offset {} are not within the pool of {} bytes", length,
                    offset, size_of_pool());
    return counted(CallKind::read, lane, length, [&] {
        return on_lane("rpmem_read", lane,
                       [&](FrameLane& own) { return own.read(destination, offset, length); });
    });
}

Result<> Pool::set_attributes(const rpmem_pool_attr& attributes) {
    if (first_writable_ == nothing_writable)
        return bad_range("rpmem_set_attr", 0, header_size, 0, 0);
    return on_session("rpmem_set_attr", [&](Association& association) {
        return association.session().set_attributes({attributes});
    });
}

// ASK makes a request. It is made again if its answer does not come because the session is lost.
template <typename Ask>
Result<> Pool::on_session(const char* call, Ask ask) {
    const Deadline patience(link_->most_time());
    while (true) {
        RPMEM_ASSIGN(const auto association, look(call));
        Result<> asked = ask(*association);
        if (asked || asked.error().kind == ErrorClass::target_refused)
            return asked;
        const Error error = judged(*association, asked.error());
        association->monitor().declare_lost(error);
        const bool goes_on = error.kind == ErrorClass::link_lost && association->can_reconnect();
        if (!goes_on && error.code == ETIMEDOUT)
            return in_context(call, error);
        if (!goes_on || patience.passed())
            return in_context(call,
                              association->monitor().reason(std::chrono::milliseconds(0)).value());
    }
}

Result<> Pool::close() {
    in_children_.reset();
    keep();
    link_->hurry(close_time);
    Result<> drained = look("rpmem_close").map([](const auto&) {});
    for (unsigned lane = 0; lane < lane_count_ && drained; ++lane)
        if (slots_[lane].owes())
            drained = on_lane("rpmem_close", lane, [](FrameLane& own) { return own.drain(); });
    slots_.reset();
    if (!drained)
        return drained;
    return on_session("rpmem_close", [](Association& association) { return association.close(); });
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
                offset, size_of_pool());
}

// What another association would not change is no loss of the link: a target that breaks the
// protocol, and one that lives and does not answer.
Error Pool::judged(Association& association, Error error) {
    const bool lives = association.can_resume() && !association.session().is_silent();
    if (error.code == EBADMSG || (error.code == ETIMEDOUT && lives))
        error.kind = ErrorClass::target_refused;
    return error;
}

Result<> Pool::broken(Association& association, const FrameLane& lane, int code) {
    Monitor& monitor = association.monitor();
    Session& session = association.session();
    if (code == ETIMEDOUT) {
        const Error late = judged(
            association,
            {ETIMEDOUT, ErrorClass::link_lost,
             fmt::format("{} did not complete an operation within {} ms (RPMEM_OPERATION_TIMEOUT)",
                         host_, settings_.operation_timeout.count())});
        monitor.declare_lost(late);
        const bool may_help = late.kind == ErrorClass::link_lost && association.can_reconnect();
        return may_help ? Result<>() : Failure(late);
    }
    if (code == EBADMSG) {
        Error broke = session.ending("rpmemd broke the protocol: " + lane.complaint());
        broke.kind = ErrorClass::target_refused;
        monitor.declare_lost(std::move(broke));
    }
    // A lane that breaks does so because the session ends, as a rule, which can say why.
    if (!monitor.reason(association.explanation_time())) {
        const std::string words = printable(lane.output());
        monitor.declare_lost(session.ending(
            fmt::format("a lane failed: {}{}{}", strerror(code),
                        words.empty() ? "" : "; the target's last words there: ", words)));
    }
    return {};
}

} // namespace rpmem::initiator
