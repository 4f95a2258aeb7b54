#include "lanes/connection.hpp"

#include "fabric/search.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

namespace rpmem {
namespace {

using fabric::ProviderKind;
using EventKind = fabric::ConnectionEvent::Kind;

// A message and its answer, a read, and a write: less and a lane cannot work.
constexpr std::size_t least_queue_size = 4;

std::size_t queue_size_of(const Settings& settings) {
    return std::max<std::size_t>(settings.work_queue_size, least_queue_size);
}

std::string where(unsigned lane, const ConnectionRequest& request) {
    return fmt::format("in-band connection of lane {} to {} port {}", lane, request.host,
                       request.port);
}

// The lane, too, is woken by this queue: its descriptor must not stay readable.
void quieten(const fabric::EventQueue& events) {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts && !events.prepare_sleep(); ++i)
        ;
}

} // namespace

Result<std::unique_ptr<Connection>>
Connection::open(ProviderKind kind, const ConnectionRequest& request, const Settings& settings) {
    std::unique_ptr<Connection> connection(new Connection(request, settings));
    RPMEM_TRY(connection->set_up(kind, settings));
    return connection;
}

Connection::~Connection() {
    for (unsigned index = 0; slots_ && index < request_.lanes; ++index)
        if (slots_[index].lane)
            slots_[index].lane->endpoint().shut_down();
    slots_.reset();
}

Result<> Connection::set_up(ProviderKind kind, const Settings& settings) {
    auto provider = fabric::search_to_connect(
        kind, request_.host, std::to_string(request_.port),
        {queue_size_of(settings), request_.messages.in_flight}, {"RPMEM_DEVICE", settings.device});
    if (!provider)
        return propagate(std::move(provider));
    provider_ = std::move(*provider);
    auto domain = fabric::open_domain(provider_);
    if (!domain)
        return propagate(std::move(domain));
    domain_ = std::move(*domain);
    if (!provider_.domain_per_queue) {
        auto events = fabric::EventQueue::open(domain_);
        if (!events)
            return propagate(std::move(events));
        events_ = std::make_unique<fabric::EventQueue>(std::move(*events));
    }
    auto region = fabric::register_memory(domain_, provider_, request_.pool, request_.pool_size,
                                          fabric::Access::local);
    if (!region)
        return propagate(std::move(region));
    pool_region_ = std::move(*region);
    limits_ = {std::min(provider_.queues.send, queue_size_of(settings)),
               provider_.max_transfer,
               provider_.inject_size,
               request_.messages_only
                   ? std::numeric_limits<std::size_t>::max()
                   : inline_worth(request_.messages, provider_.local_registration),
               strict_inline(request_.messages, provider_.kind),
               provider_.local_registration ? 0 : gathered_size(request_.messages, provider_.kind),
               request_.messages,
               provider_.local_registration,
               {settings.spin_time, settings.operation_timeout, true}};
    slots_ = std::make_unique<Slot[]>(request_.lanes);
    // Peers of protocol 0.1 number the lanes in the order in which they come.
    const unsigned now = request_.token ? 1 : request_.lanes;
    for (unsigned index = 0; index < now; ++index)
        RPMEM_TRY(connect(index, provider_.domain_per_queue ? Events::own : Events::shared,
                          {request_.session_fd, [] { return true; }}));
    timeout_ = later_timeout_;
    return {};
}

Result<Lane*> Connection::use_lane(unsigned index) {
    if (Lane* const connected = lane(index))
        return connected;
    const std::lock_guard lock(connecting_);
    if (!slots_[index].lane)
        RPMEM_TRY(connect(index, Events::own, request_.alarm));
    return slots_[index].lane.get();
}

Result<Connection::Place> Connection::open_place() const {
    Place place;
    if (provider_.domain_per_queue) {
        auto domain = fabric::open_domain(provider_);
        if (!domain)
            return propagate(std::move(domain));
        place.domain = std::make_unique<fabric::Domain>(std::move(*domain));
    }
    auto events = fabric::EventQueue::open(place.domain ? *place.domain : domain_);
    if (!events)
        return propagate(std::move(events));
    place.events = std::make_unique<fabric::EventQueue>(std::move(*events));
    return place;
}

Result<> Connection::connect(unsigned index, Events kind, const Alarm& alarm) {
    auto place = kind == Events::own ? open_place() : Place();
    if (!place)
        return propagate(std::move(place));
    const fabric::EventQueue& events = place->events ? *place->events : *events_;
    const fabric::Domain& domain = place->domain ? *place->domain : domain_;
    const PoolMemory memory{request_.pool, request_.pool_size, pool_region_.descriptor(),
                            request_.remote, request_.messages_only};
    auto lane = Lane::open(domain, provider_, events, index, memory, limits_, request_.alarm);
    if (!lane)
        return propagate(std::move(lane));
    std::vector<std::byte> greeting;
    if (request_.token)
        greeting = wire::encode(wire::LaneGreeting{index, *request_.token});
    auto started = (*lane)->endpoint().connect(provider_.info->dest_addr, greeting);
    if (!started)
        return Failure(in_context(where(index, request_), std::move(started).error()));
    RPMEM_TRY(await_connected(index, events, alarm));
    if (place->domain)
        quieten(events);
    (*lane)->become_ready();
    Slot& slot = slots_[index];
    slot.place = std::move(*place);
    slot.lane = std::move(*lane);
    slot.ready.store(slot.lane.get(), std::memory_order_release);
    return {};
}

Result<> Connection::await_connected(unsigned index, const fabric::EventQueue& events,
                                     const Alarm& alarm) const {
    const Deadline deadline(timeout_);
    auto event = events.wait(deadline, alarm.fd);
    while (event && !*event && !deadline.passed() && !alarm.is_lost())
        event = events.wait(deadline, alarm.fd);
    if (!event)
        return propagate(std::move(event));
    if (!*event && !deadline.passed())
        return fail(ErrorClass::link_lost, ECONNRESET, "{} failed: the session ended",
                    where(index, request_));
    if (!*event)
        return fail(ErrorClass::link_lost, ETIMEDOUT,
                    "{} took longer than {} ms (RPMEM_CONNECT_TIMEOUT); is the port reachable "
                    "(firewall)?",
                    where(index, request_), timeout_.count());
    if ((*event)->kind != EventKind::connected)
        return fail(ErrorClass::link_lost, (*event)->code != 0 ? (*event)->code : ECONNREFUSED,
                    "{} failed: {}", where(index, request_),
                    (*event)->text.empty() ? "the target refused it" : (*event)->text);
    return {};
}

} // namespace rpmem
