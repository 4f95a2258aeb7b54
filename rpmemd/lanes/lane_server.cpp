#include "lanes/lane_server.hpp"

#include "base/cache_line.hpp"
#include "fabric/paging.hpp"
#include "fabric/search.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace rpmem::target {
namespace {

using EventKind = fabric::ConnectionEvent::Kind;

// Answers of a lane on their way; one may answer many messages.
constexpr unsigned most_answers = 16;

// For the messages of all lanes, which their peer may fill, and for their windows.
constexpr std::size_t most_data_bytes = std::size_t{1} << 30;

// The kernel pins no such memory, whoever asks: files on persistent memory, or since Linux 6.5 of
// ordinary file systems.
bool is_unfit(const Error& error) { return error.code == EOPNOTSUPP || error.code == EFAULT; }

std::size_t windows_of_a_lane(const wire::MessageRules& rules) {
    return rules.windows * rules.inline_size;
}

// EXTRA: bytes for each besides those of its messages.
unsigned affordable_lanes(const fabric::Provider& provider, const wire::MessageRules& rules,
                          std::size_t extra) {
    const std::size_t each = Lane::most_data(provider, rules) + extra;
    return static_cast<unsigned>(most_data_bytes / std::max(each, cache_line));
}

// How lanes can arrive at ADDRESS.
Result<fabric::Provider> search(const LaneServerOptions& options, const std::string& address,
                                const std::string& port) {
    return fabric::search_to_listen(
        options.provider, address, port,
        {std::min(options.messages.in_flight, most_answers), options.messages.in_flight},
        {"device", options.device});
}

unsigned worker_count(unsigned wanted, unsigned lanes) {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp(wanted == 0 ? cores : wanted, 1U, lanes);
}

} // namespace

Result<std::unique_ptr<LaneServer>> LaneServer::start(const LaneServerOptions& options,
                                                      std::byte* pool, std::size_t pool_size,
                                                      Persister persister, Log log) {
    auto failure_event = Event::make();
    if (!failure_event)
        return propagate(std::move(failure_event));
    std::unique_ptr<LaneServer> server(new LaneServer(std::move(*failure_event), std::move(log)));
    RPMEM_TRY(server->set_up(options, pool, pool_size, persister));
    return server;
}

Result<> LaneServer::set_up(const LaneServerOptions& options, std::byte* pool,
                            std::size_t pool_size, Persister persister) {
    if (options.provider == fabric::ProviderKind::verbs)
        if (const auto note = fabric::ask_for_paging(options.paging, pool, pool_size);
            !note.empty())
            log_.notice("{}", note);
    auto provider = search(options, options.address, "0");
    if (options.provider == fabric::ProviderKind::verbs)
        for (auto further = options.further_addresses.begin();
             !provider && further != options.further_addresses.end(); ++further)
            if (auto found = search(options, *further, "0"))
                provider = std::move(found);
    if (!provider)
        return propagate(std::move(provider));
    provider_ = std::move(*provider);
    RPMEM_TRY(fabric::check_paging(options.paging, provider_));
    auto place = open_place();
    if (!place)
        return propagate(std::move(place));
    shared_ = std::move(*place);
    lane_count_ = std::min(
        {options.lanes, provider_.max_lanes, affordable_lanes(provider_, options.messages, 0)});
    rights_ = options.read_only ? fabric::Access::remote_read : fabric::Access::remote;
    RPMEM_TRY(expose(options, pool, pool_size));
    lanes_.resize(lane_count_);
    token_ = options.token;
    messages_ = options.messages;
    RPMEM_TRY(make_workers(
        options, {pool, pool_size, remote_base(), windows_.get(), window_size_, options.read_only},
        persister));
    auto passive = fabric::PassiveEndpoint::listen(shared_.domain, provider_, *shared_.events);
    if (!passive)
        return propagate(std::move(passive));
    passive_ = std::make_unique<fabric::PassiveEndpoint>(std::move(*passive));
    if (options.provider != fabric::ProviderKind::verbs)
        listen_further(options);
    return {};
}

// Clients may come elsewhere, so what fails here ends nothing.
void LaneServer::listen_further(const LaneServerOptions& options) {
    for (const std::string& address : options.further_addresses) {
        if (address == options.address)
            continue;
        const auto provider = search(options, address, std::to_string(port()));
        auto passive =
            provider ? fabric::PassiveEndpoint::listen(shared_.domain, *provider, *shared_.events)
                     : Result<fabric::PassiveEndpoint>(Failure(provider.error()));
        if (passive)
            further_.push_back(std::move(*passive));
        else
            log_.warning("no lanes are served at {} (setting address): {}", address,
                         passive.error().text);
    }
}

Result<LaneServer::Place> LaneServer::open_place() const {
    auto domain = fabric::open_domain(provider_);
    if (!domain)
        return propagate(std::move(domain));
    auto events = fabric::EventQueue::open(*domain);
    if (!events)
        return propagate(std::move(events));
    return Place{std::move(*domain), std::make_unique<fabric::EventQueue>(std::move(*events)), {}};
}

// Registers the pool, or in its place windows that the workers copy to.
Result<> LaneServer::expose(const LaneServerOptions& options, std::byte* pool,
                            std::size_t pool_size) {
    if (options.access != PoolAccess::messages) {
        exposed_ = {pool, pool_size};
        auto region = register_in(shared_);
        if (region)
            return {};
        if (options.access == PoolAccess::direct || !is_unfit(region.error()))
            return propagate(std::move(region));
        log_.notice("the pool is served by messages only: {}", region.error().text);
    }
    const std::size_t each = windows_of_a_lane(options.messages);
    lane_count_ = std::min(lane_count_, affordable_lanes(provider_, options.messages, each));
    const std::size_t size = each * lane_count_;
    // Zeros, so that the peer sees nothing else of this process; in pages that cost nothing yet.
    windows_.reset(static_cast<std::byte*>(std::calloc(size, 1)));
    if (!windows_)
        return fail(ErrorClass::resource_limit, ENOMEM, "no memory for the windows of {} lanes",
                    lane_count_);
    window_size_ = options.messages.inline_size;
    exposed_ = {windows_.get(), size};
    return register_in(shared_);
}

// With the same key in all places.
Result<> LaneServer::register_in(Place& place) const {
    auto region = fabric::register_memory(place.domain, provider_, exposed_.data(), exposed_.size(),
                                          rights_, &place == &shared_ ? nullptr : &shared_.region);
    if (!region)
        return propagate(std::move(region));
    place.region = std::move(*region);
    return {};
}

Result<> LaneServer::make_workers(const LaneServerOptions& options, ServedMemory memory,
                                  Persister persister) {
    const unsigned count = worker_count(options.workers, lane_count_);
    first_has_thread_ = persister.means() != FlushMeans::pmem_persist;
    const std::size_t lanes_each = (lane_count_ + count - 1) / count;
    const auto failed = [this](std::string text) {
        {
            const std::lock_guard lock(failure_mutex_);
            if (failure_.empty()) // the others follow from the first
                failure_ = std::move(text);
        }
        failure_event_.raise();
    };
    for (unsigned i = 0; i < count; ++i) {
        if (provider_.domain_per_queue) {
            auto place = open_place();
            if (!place)
                return propagate(std::move(place));
            RPMEM_TRY(register_in(*place));
            places_.push_back(std::move(*place));
        }
        const Place& place = place_of(i);
        auto worker = LaneWorker::make(place.domain, *place.events,
                                       fabric::completions_of(provider_, lanes_each), lanes_each,
                                       options.spin_time, memory, persister, failed);
        if (!worker)
            return propagate(std::move(worker));
        workers_.push_back(std::move(*worker));
    }
    return {};
}

LaneServer::~LaneServer() {
    for (const auto& lane : lanes_)
        if (lane)
            lane->endpoint().shut_down();
    further_.clear();
    passive_.reset();
    // The workers' threads end first: they use the lanes. Their queues can only be closed after
    // the endpoints bound to them.
    for (const auto& worker : workers_)
        worker->stop();
    lanes_.clear();
    former_lanes_.clear();
}

std::string LaneServer::failure() const {
    const std::lock_guard lock(failure_mutex_);
    return failure_;
}

Result<> LaneServer::handle_events() {
    while (true) {
        auto event = shared_.events->read();
        if (!event)
            return propagate(std::move(event));
        if (!*event)
            break;
        RPMEM_TRY(handle(std::move(**event)));
    }
    return {};
}

void LaneServer::end_half_open() {
    const auto now = HalfOpen::Clock::now();
    // RDMA CM keeps such connections in the kernel; those of sockets cannot be told from lanes.
    if (provider_.kind != fabric::ProviderKind::tcp || !half_open_.is_due(now))
        return;
    std::vector<sockaddr_storage> peers;
    for (const auto& lane : lanes_) {
        if (!lane)
            continue;
        const auto peer = lane->endpoint().peer();
        if (!peer)
            return; // whose lane is ended by mistake would be worse
        peers.push_back(*peer);
    }
    if (const unsigned ended = half_open_.look(port(), peers, now); ended > 0)
        log_.warning("ended {} connections that did not become lanes in time, or were too many",
                     ended);
}

Result<> LaneServer::handle(fabric::ConnectionEvent event) {
    switch (event.kind) {
    case EventKind::requested:
        return accept(std::move(event));
    case EventKind::connected:
        if (Lane* lane = find(event.object))
            note_connected(*lane);
        return {};
    case EventKind::shut_down:
        if (Lane* lane = find(event.object)) {
            // A worker may have seen the end before accept() told of the beginning.
            note_connected(*lane);
            log_.info("lane {} was shut down by the peer", lane->index());
            vacate(lane->index());
        }
        return {};
    case EventKind::failed:
        log_.warning("a connection failed: {}", event.text);
        if (const Lane* lane = find(event.object))
            vacate(lane->index());
        return {};
    }
    return {};
}

void LaneServer::note_connected(Lane& lane) {
    if (lane.connected)
        return;
    lane.connected = true;
    ++connected_;
    log_.debug("lane {} is connected", lane.index());
}

// A peer whose connection came to nothing may come again, but not without end.
bool LaneServer::can_vacate() const { return token_ && former_lanes_.size() < lane_count_; }

void LaneServer::vacate(unsigned index) {
    if (lanes_[index] && can_vacate())
        former_lanes_.push_back(std::move(lanes_[index]));
}

std::optional<unsigned> LaneServer::lane_of(const fabric::ConnectionEvent& request) const {
    if (!token_) {
        const auto free = std::find(lanes_.begin(), lanes_.end(), nullptr);
        if (free != lanes_.end())
            return static_cast<unsigned>(free - lanes_.begin());
        log_.warning("refused a connection beyond the {} lanes of this session", lane_count_);
        return std::nullopt;
    }
    const auto greeting = wire::decode_lane_greeting(request.data);
    if (!greeting) {
        log_.warning("refused a connection: {}", greeting.error().text);
        return std::nullopt;
    }
    if (greeting->token != *token_) {
        log_.warning("refused a connection: its token is not the one of this session");
        return std::nullopt;
    }
    if (greeting->lane >= lane_count_) {
        log_.warning("refused a connection for lane {}: there is no such lane", greeting->lane);
        return std::nullopt;
    }
    if (const auto& lane = lanes_[greeting->lane]; lane && (lane->connected || !can_vacate())) {
        log_.warning("refused a connection for lane {}: it is connected already", greeting->lane);
        return std::nullopt;
    }
    return greeting->lane;
}

Result<> LaneServer::accept(fabric::ConnectionEvent request) {
    const auto index = lane_of(request);
    if (!index) {
        passive_->reject(request.info);
        return {};
    }
    vacate(*index); // the peer has given up an earlier attempt
    auto lane = open_lane(*index, request.info.get());
    // The lanes that there are go on.
    auto accepted = lane ? (*lane)->endpoint().accept() : Result<>(Failure(lane.error()));
    if (!accepted) {
        log_.error("cannot serve lane {}: {}", *index, accepted.error().text);
        if (!lane)
            passive_->reject(request.info);
        return token_ ? Result<>() : accepted;
    }
    lanes_[*index] = std::move(*lane);
    return {};
}

Result<std::unique_ptr<Lane>> LaneServer::open_lane(unsigned index, fi_info* info) {
    const std::size_t worker = index % workers_.size();
    if (worker != 0 || first_has_thread_)
        RPMEM_TRY(workers_[worker]->start_thread());
    return Lane::open(place_of(worker).domain, provider_, info, *shared_.events,
                      workers_[worker]->completions(), index, messages_);
}

bool LaneServer::serve_until(int wake, std::chrono::milliseconds limit) {
    if (!first_has_thread_)
        return workers_.front()->serve_until(wake, limit);
    static_cast<void>(wait_readable(wake, Deadline(limit)));
    return false;
}

Lane* LaneServer::find(fid_t endpoint) const {
    const auto found = std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& lane) {
        return lane && lane->endpoint().id() == endpoint;
    });
    return found == lanes_.end() ? nullptr : found->get();
}

} // namespace rpmem::target
