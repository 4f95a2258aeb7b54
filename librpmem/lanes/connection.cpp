#include "lanes/connection.hpp"

#include <algorithm>
#include <array>
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

struct Candidate {
    ProviderKind kind;
    bool enabled;
    const char* how_to_enable;
};

} // namespace

Result<fabric::Provider> choose_provider(const std::string& host, const Settings& settings) {
    const std::array candidates = {
        Candidate{ProviderKind::verbs, settings.enable_verbs,
                  "verbs is switched off (RPMEM_ENABLE_VERBS=0)"},
        Candidate{ProviderKind::sockets, settings.enable_sockets,
                  "sockets is not switched on (RPMEM_ENABLE_SOCKETS=1 does)"},
    };
    std::string reasons;
    for (const Candidate& candidate : candidates) {
        if (!reasons.empty())
            reasons += "; ";
        if (!candidate.enabled) {
            reasons += candidate.how_to_enable;
            continue;
        }
        auto found = fabric::find_to_connect(candidate.kind, host, "", queue_size_of(settings));
        if (found)
            return found;
        reasons += found.error().text;
    }
    return fail(ErrorClass::resource_limit, ENOMEDIUM, "no fabric provider reaches {}: {}", host,
                reasons);
}

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
                            request.inline_size,
                            provider_.local_registration,
                            {settings.spin_time, settings.operation_timeout}};
    for (unsigned index = 0; index < request.lanes; ++index) {
        auto lane =
            Lane::open(domain_, provider_, *events_, index, memory, limits, request.lost_fd);
        if (!lane)
            return propagate(std::move(lane));
        lanes_.push_back(std::move(*lane));
        // One after the other: lanes have their numbers by the order of connection.
        RPMEM_TRY(connect(*lanes_.back(), request, settings));
    }
    return {};
}

Result<> Connection::connect(Lane& lane, const ConnectionRequest& request,
                             const Settings& settings) {
    const auto where = [&] {
        return fmt::format("in-band connection of lane {} to {} port {}", lanes_.size() - 1,
                           request.host, request.port);
    };
    if (auto started = lane.endpoint().connect(provider_.info->dest_addr); !started)
        return Failure(in_context(where(), std::move(started).error()));
    const Deadline deadline(settings.connect_timeout);
    while (true) {
        auto event = events_->wait(deadline, request.session_fd);
        if (!event)
            return propagate(std::move(event));
        if (!*event && !deadline.passed())
            return fail(ErrorClass::link_lost, ECONNRESET, "{} failed: the session ended", where());
        if (!*event)
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "{} took longer than {} ms (RPMEM_CONNECT_TIMEOUT); is the port reachable "
                        "(firewall)?",
                        where(), settings.connect_timeout.count());
        if ((*event)->object != lane.endpoint().id())
            continue;
        if ((*event)->kind == EventKind::connected)
            return {};
        return fail(ErrorClass::link_lost, (*event)->code != 0 ? (*event)->code : ECONNREFUSED,
                    "{} failed: {}", where(),
                    (*event)->text.empty() ? "the target refused it" : (*event)->text);
    }
}

} // namespace rpmem
