// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/fabric_lane_server.hpp"

#include "common/base/cache_line.hpp"
#include "common/wire/hello.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::target {
namespace {

using transport::FabricConnection;
using EventKind = fabric::ConnectionEvent::Kind;
using transport::FabricPhase;

// Credits of a lane. Each frame in progress needs a buffer, and more are not faster.
constexpr std::uint32_t max_frames = 32;
constexpr std::uint32_t max_reads = 4;
constexpr std::size_t receives = max_frames + max_reads + 1; // the last one is for a bye

// Send buffers of a lane for data, acks and an error.
constexpr std::size_t sends = 16;

// Maximum payload of a frame. Its buffer may be locked in memory.
constexpr std::size_t max_payload = std::size_t{32} * 1024;
// A payload up to this size is always granted. A larger one must let the buffers of all lanes fit
// into the budget.
constexpr std::size_t sure_payload = 8192;
constexpr std::size_t budget = std::size_t{64} << 20;
// Limit for all receive buffers. It bounds the number of lanes.
constexpr std::size_t max_data_bytes = std::size_t{1} << 30;

// Some providers have no thread of their own, and connect lanes only while the event queue is read.
constexpr std::chrono::milliseconds connecting_tick(50);

std::uint32_t payload_for(unsigned lanes, std::size_t wanted) {
    const std::size_t best = std::clamp(wanted, cache_line, max_payload) & ~(cache_line - 1);
    const std::size_t affordable = budget / (std::size_t{lanes} * receives) & ~(cache_line - 1);
    return static_cast<std::uint32_t>(std::clamp(affordable, std::min(sure_payload, best), best));
}

wire::LaneCredits credits_for(std::uint32_t payload, std::uint32_t frames, std::uint32_t reads) {
    const auto each = static_cast<std::uint32_t>(
        wire::weight_of({.type = wire::FrameType::write, .length = payload}));
    return {.bytes = std::max(wire::min_credit_bytes, frames * each),
            .payload = payload,
            .frames = frames,
            .reads = reads};
}

} // namespace

Result<std::unique_ptr<FabricLaneServer>>
FabricLaneServer::start(const FabricServerOptions& options, std::span<std::byte> pool,
                        const Medium& medium, Log log) {
    RPMEM_ASSIGN(auto failed, Event::make());
    std::unique_ptr<FabricLaneServer> server(
        new FabricLaneServer(options, pool, medium, std::move(failed), std::move(log)));
    RPMEM_TRY(server->set_up(options));
    return server;
}

Result<> FabricLaneServer::set_up(const FabricServerOptions& options) {
    receives_ = is_0_1_ ? 1 : receives;
    RPMEM_ASSIGN(listener_, FabricListener::open(options, {is_0_1_ ? 1 : sends, receives_},
                                                 pool_.memory, log_));
    // A peer of protocol 0.1 gets the payload that it requested, and has one message in progress.
    const auto payload = is_0_1_ ? static_cast<std::uint32_t>(options.inline_size)
                                 : payload_for(options.lanes, options.inline_size);
    lane_count_ = static_cast<unsigned>(std::min<std::size_t>(
        {options.lanes, listener_->provider().max_lanes,
         max_data_bytes / (receives_ * std::max<std::size_t>(payload, cache_line))}));
    credits_ = is_0_1_ ? credits_for(payload, 1, 0) : credits_for(payload, max_frames, max_reads);
    // A device has a maximum queue size that libfabric does not report. Retry with fewer lanes.
    auto made = make_workers(options);
    while (!made && made.error().code == EINVAL && lane_count_ > 1) {
        lane_count_ /= 2;
        made = make_workers(options);
    }
    slots_.resize(lane_count_);
    return made;
}

Result<> FabricLaneServer::make_workers(const FabricServerOptions& options) {
    workers_.clear();
    groups_.clear();
    const unsigned count = count_workers(options.workers, lane_count_);
    // A lane may connect again before its former connection has ended, so count it twice.
    const std::size_t lanes_each = std::size_t{2} * ((lane_count_ + count - 1) / count);
    for (unsigned i = 0; i < count; ++i) {
        RPMEM_ASSIGN(auto group, transport::FabricGroup::open(
                                     listener_->domain(),
                                     fabric::completions_of(listener_->provider(), lanes_each),
                                     options.spin_time));
        groups_.push_back(group.get());
        RPMEM_TRY(add_worker(std::move(group)));
    }
    return {};
}

// Stops listening, and then ends the workers before the members that they use are destroyed.
FabricLaneServer::~FabricLaneServer() {
    if (listener_)
        listener_->close();
    workers_.clear();
}

bool FabricLaneServer::was_reached() const {
    return std::ranges::any_of(slots_, [](const LaneSlot& slot) { return slot.state != nullptr; });
}

void FabricLaneServer::end(const std::string& why) {
    if (!is_0_1_) // protocol 0.1 has no errors on lanes, only the control channel reports them
        LaneServer::end(why);
}

Result<> FabricLaneServer::wait(std::span<pollfd> fds, std::chrono::milliseconds limit) {
    if (!listener_->events().prepare_sleep())
        limit = std::chrono::milliseconds(0);
    else if (!ready())
        limit = std::min(limit, connecting_tick);
    std::optional<Clock::time_point> next;
    for (const LaneSlot& slot : slots_)
        if (slot.is(FabricPhase::handshake))
            next = std::min(next.value_or(slot.deadline), slot.deadline);
    return wait_until(next, fds, limit);
}

Result<> FabricLaneServer::handle_events() {
    while (true) {
        RPMEM_ASSIGN(auto event, listener_->events().read());
        if (!event)
            break;
        handle(std::move(*event));
    }
    end_unproven();
    return {};
}

void FabricLaneServer::handle(fabric::ConnectionEvent event) {
    if (event.kind == EventKind::requested)
        return accept(std::move(event));
    if (event.kind == EventKind::failed)
        log_.warning("a connection failed: {}", event.text);
    for (unsigned lane = 0; lane < lane_count_; ++lane) {
        LaneSlot& slot = slots_[lane];
        if (!slot.state || slot.endpoint != event.object)
            continue;
        if (is_0_1_ && event.kind != EventKind::failed)
            note_connected(slot); // the end may be reported without the connection
        if (slot.is(FabricPhase::ended))
            continue;
        if (event.kind == EventKind::connected)
            slot.is_reported = true;
        // Without is_reported the event may belong to a former endpoint with the same address.
        else if (event.kind == EventKind::failed || slot.is_reported)
            lose(slot, lane);
    }
}

void FabricLaneServer::note_connected(LaneSlot& slot) {
    if (!std::exchange(slot.is_reported, true))
        ++connected_;
}

// The worker sees the phase and ends the connection.
void FabricLaneServer::lose(LaneSlot& slot, unsigned lane) {
    slot.state->advance(FabricPhase::lost);
    workers_[worker_of(lane)]->look();
}

void FabricLaneServer::end_unproven() {
    const auto now = Clock::now();
    for (unsigned lane = 0; lane < lane_count_; ++lane) {
        LaneSlot& slot = slots_[lane];
        if (!slot.is(FabricPhase::handshake) || now < slot.deadline)
            continue;
        log_.warning("lane {} did not complete its handshake within {} ms", lane,
                     std::chrono::milliseconds(unproven_timeout_).count());
        lose(slot, lane);
    }
}

Result<unsigned> FabricLaneServer::lane_of(const fabric::ConnectionEvent& request) const {
    const auto refuse = [](std::string why) {
        return Failure(Error{EACCES, ErrorClass::caller_fault, std::move(why)});
    };
    if (is_0_1_ && accepted_ == lane_count_)
        return refuse(fmt::format("all {} lanes of this session are connected", lane_count_));
    if (is_0_1_)
        return accepted_;
    RPMEM_ASSIGN(const auto data, wire::decode_lane_connect_data(request.data));
    if (!session_ || data.token != session_->keys.token)
        return refuse("its token is not the one of this session");
    if (data.lane >= lane_count_)
        return refuse(fmt::format("lane {}: the lanes of this session are 0 to {}", data.lane,
                                  lane_count_ - 1));
    if (slots_[data.lane].is(FabricPhase::open))
        return refuse(fmt::format("lane {}: it is connected already", data.lane));
    const auto unproven = std::count_if(slots_.begin(), slots_.end(), [](const auto& each) {
        return each.is(FabricPhase::handshake);
    });
    if (static_cast<std::size_t>(unproven) >= max_unproven_)
        return refuse(fmt::format("lane {}: {} others are not authenticated yet; the maximum is {}",
                                  data.lane, unproven, max_unproven_));
    return data.lane;
}

void FabricLaneServer::accept(fabric::ConnectionEvent request) {
    const auto lane = lane_of(request);
    if (!lane) {
        log_.warning("refused a connection: {}", lane.error().text);
        return listener_->reject(request.info);
    }
    if (!may_accept())
        return listener_->reject(request.info);
    LaneSlot& slot = slots_[*lane];
    if (slot.state && !slot.is(FabricPhase::ended))
        lose(slot, *lane); // the peer has abandoned an earlier attempt
    auto connection = open_connection(*lane, request.info.get());
    if (!connection) { // the other lanes continue
        log_.error("cannot serve lane {}: {}", *lane, connection.error().text);
        return listener_->reject(request.info);
    }
    ++accepted_;
    slot = {(*connection)->endpoint().id(), (*connection)->state(),
            Clock::now() + unproven_timeout_};
    serve(*lane, std::move(*connection), credits_, is_direct());
}

Result<std::unique_ptr<FabricConnection>> FabricLaneServer::open_connection(unsigned lane,
                                                                            fi_info* info) {
    transport::FabricPool pool;
    if (is_direct())
        pool = {.memory = pool_.memory, .descriptor = listener_->region()->descriptor()};
    std::unique_ptr<transport::LaneHandshake> handshake;
    wire::LaneEncoding encoding;
    if (is_0_1_)
        encoding = wire::LaneEncoding({.end = wire::LaneEnd::target,
                                       .lane = lane,
                                       .remote_base = remote_base(),
                                       .pool_size = pool_.memory.size()});
    else
        handshake = std::make_unique<transport::TargetHandshake>(*session_, lane, credits_,
                                                                 [this] { ++connected_; });
    const std::size_t copied = is_direct() ? wire::max_error_text : credits_.payload;
    return FabricConnection::open(
        {.domain = listener_->domain(),
         .provider = listener_->provider(),
         .info = info,
         .events = listener_->events(),
         .group = *groups_[worker_of(lane)],
         .accepts = true,
         .encoding = encoding},
        {.receives = receives_,
         .receive_size = encoding.header_size() + credits_.payload,
         .sends = is_0_1_       ? 1
                  : is_direct() ? sends
                                : std::size_t{2} * max_reads,
         .send_size = wire::frame_header_size + std::max(copied, wire::max_error_text),
         .queue = sends},
        pool, fmt::format("lane {}", lane), std::move(handshake));
}

} // namespace rpmem::target
