#include "lanes/connection.hpp"

#include <algorithm>
#include <cerrno>

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

} // namespace

Result<std::unique_ptr<Connection>>
Connection::open(ProviderKind kind, const ConnectionRequest& request, const Settings& settings) {
    std::unique_ptr<Connection> connection(new Connection);
    RPMEM_TRY(connection->set_up(kind, request, settings));
    return connection;
}

Connection::~Connection() {
    for (const auto& lane : lanes_)
        lane->endpoint().shut_down();
}

Result<> Connection::set_up(ProviderKind kind, const ConnectionRequest& request,
                            const Settings& settings) {
    auto provider = fabric::find_to_connect(kind, request.host, std::to_string(request.port),
                                            queue_size_of(settings));
    if (!provider)
        return propagate(std::move(provider));
    provider_ = std::move(*provider);
    auto domain = fabric::open_domain(provider_);
    if (!domain)
        return propagate(std::move(domain));
    domain_ = std::move(*domain);
    auto events = fabric::EventQueue::open(domain_.fabric);
    if (!events)
        return propagate(std::move(events));
    events_ = std::make_unique<fabric::EventQueue>(std::move(*events));
    auto region = fabric::register_memory(domain_, provider_, request.pool, request.pool_size,
                                          fabric::Access::local);
    if (!region)
        return propagate(std::move(region));
    pool_region_ = std::move(*region);

    const PoolMemory memory{request.pool, request.pool_size, pool_region_.descriptor(),
                            request.remote};
    const LaneLimits limits{std::min(provider_.queue_size, queue_size_of(settings)),
                            provider_.max_transfer,
                            provider_.inject_size,
                            request.inline_size,
                            request.messages,
                            request.counted_answers,
                            provider_.local_registration,
                            {settings.spin_time, settings.operation_timeout}};
    for (unsigned index = 0; index < request.lanes; ++index) {
        auto lane =
            Lane::open(domain_, provider_, *events_, index, memory, limits, request.lost_fd);
        if (!lane)
            return propagate(std::move(lane));
        lanes_.push_back(std::move(*lane));
        RPMEM_TRY(start_to_connect(index, request));
        // Peers of protocol 0.1 number the lanes in the order in which they come.
        if (!request.token)
            RPMEM_TRY(await_connected(index + 1, request, settings));
    }
    return await_connected(request.lanes, request, settings);
}

Result<> Connection::start_to_connect(unsigned index, const ConnectionRequest& request) {
    std::vector<std::byte> greeting;
    if (request.token)
        greeting = wire::encode(wire::LaneGreeting{index, *request.token});
    auto started = lanes_[index]->endpoint().connect(provider_.info->dest_addr, greeting);
    if (!started)
        return Failure(in_context(where(index, request), std::move(started).error()));
    return {};
}

Result<> Connection::await_connected(unsigned count, const ConnectionRequest& request,
                                     const Settings& settings) {
    const Deadline deadline(settings.connect_timeout);
    while (connected_ < count) {
        auto event = events_->wait(deadline, request.session_fd);
        if (!event)
            return propagate(std::move(event));
        if (!*event && !deadline.passed())
            return fail(ErrorClass::link_lost, ECONNRESET, "{} failed: the session ended",
                        where(connected_, request));
        if (!*event)
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "{} took longer than {} ms (RPMEM_CONNECT_TIMEOUT); is the port reachable "
                        "(firewall)?",
                        where(connected_, request), settings.connect_timeout.count());
        if ((*event)->kind != EventKind::connected)
            return fail(ErrorClass::link_lost, (*event)->code != 0 ? (*event)->code : ECONNREFUSED,
                        "{} failed: {}", where(connected_, request),
                        (*event)->text.empty() ? "the target refused it" : (*event)->text);
        ++connected_;
    }
    return {};
}

} // namespace rpmem
