// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/fabric_lanes.hpp"

#include "common/base/deadline.hpp"
#include "common/transport/fabric/connect.hpp"
#include "common/transport/fabric/search.hpp"
#include "librpmem/lanes/frame_lane.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::initiator {
namespace {

// A lane needs at least room for a message, its answer, a read and a write.
constexpr std::size_t min_queue_size = 4;

std::size_t queue_size_of(const Settings& settings) {
    return std::max<std::size_t>(settings.work_queue_size, min_queue_size);
}

// Relaxed ranges are written by RDMA. Over sockets so are strict ranges that do not fit into one
// message, as by the library of 1.12.1, because its daemon must answer each message before the next
// is sent.
DirectRanges ranges_of_0_1(fabric::ProviderKind provider) {
    DirectRanges ranges{.relaxed = 0};
    if (provider == fabric::ProviderKind::sockets)
        ranges.strict = wire::inline_size_of_0_1;
    return ranges;
}

} // namespace

Result<std::unique_ptr<ConnectionLanes>> FabricLanes::open(const LanesRequest& request,
                                                           const Settings& settings,
                                                           std::chrono::milliseconds first_time) {
    std::unique_ptr<FabricLanes> lanes(new FabricLanes(request, settings));
    RPMEM_TRY(lanes->set_up());
    const ConnectContext context{*lanes->events_, first_time};
    // Targets of protocol 0.1 number the lanes in the order in which they are connected.
    const unsigned now = request.proof ? 1 : request.lanes;
    for (unsigned index = 0; index < now; ++index) {
        RPMEM_ASSIGN(auto lane, lanes->connect_by(index, context));
        lanes->put(index, std::move(lane));
    }
    return lanes;
}

FabricLanes::~FabricLanes() { end_all(); }

Result<> FabricLanes::set_up() {
    const std::size_t received = request_.proof ? transport::max_lane_messages : 1;
    RPMEM_ASSIGN(provider_, fabric::search_to_connect(*request_.kind, request_.host,
                                                      std::to_string(request_.port),
                                                      {queue_size_of(settings_), received},
                                                      {"RPMEM_DEVICE", settings_.device}));
    RPMEM_ASSIGN(domain_, fabric::open_domain(provider_));
    RPMEM_ASSIGN(auto events, fabric::EventQueue::open(domain_));
    events_ = std::make_unique<fabric::EventQueue>(std::move(events));
    RPMEM_ASSIGN(pool_region_, fabric::register_memory(domain_, provider_, request_.pool,
                                                       request_.pool_size, fabric::Access::local));
    return {};
}

// Connects one lane at a time. TIME includes the wait for other lanes.
Result<std::unique_ptr<FrameLane>> FabricLanes::connect(unsigned index,
                                                        std::chrono::milliseconds time) {
    const Deadline deadline(time);
    const std::unique_lock lock(connecting_, time);
    if (!lock)
        return fail(ErrorClass::link_lost, ETIMEDOUT,
                    "lane {} waited {} ms for the connection of other lanes ({})", index,
                    time.count(), transport::connect_setting);
    RPMEM_ASSIGN(auto events, fabric::EventQueue::open(domain_));
    own_events_.push_back(std::make_unique<fabric::EventQueue>(std::move(events)));
    auto lane =
        connect_by(index, {*own_events_.back(),
                           std::chrono::milliseconds(std::max(deadline.poll_timeout(), 1))});
    if (!lane)
        own_events_.pop_back();
    return lane;
}

Result<std::unique_ptr<FrameLane>> FabricLanes::connect_by(unsigned index,
                                                           const ConnectContext& context) {
    const transport::FabricTarget target{
        .domain = domain_,
        .provider = provider_,
        .events = context.events,
        .spin_time = settings_.spin_time,
        .pool = {.memory = {request_.pool, request_.pool_size},
                 .descriptor = pool_region_.descriptor(),
                 .remote = request_.remote},
        .queue = std::min(provider_.queues.send, queue_size_of(settings_)),
        .max_payload = request_.inline_size};
    const transport::ConnectLimits limits{context.time, request_.interrupt};
    const std::string where = fmt::format("in-band connection of lane {} to {} port {}", index,
                                          request_.host, request_.port);
    RPMEM_ASSIGN(auto opened,
                 request_.proof
                     ? transport::connect_fabric_lane(*request_.proof,
                                                      {.lane = index,
                                                       .generation = request_.proof->generation,
                                                       .transport = wire::Provider::verbs},
                                                      target, where, limits, max_read_piece)
                     : transport::connect_lane_of_0_1(index, target, where, limits));
    const wire::LaneTerms terms{.credits = opened.credits,
                                .pool_size = request_.pool_size,
                                .read_only = request_.read_only,
                                .direct = request_.remote.has_value(),
                                .appliance = request_.method == wire::PersistMethod::appliance,
                                .digests = request_.digests};
    return std::make_unique<FrameLane>(
        std::move(opened.connection), std::move(opened.group), terms, request_.pool,
        request_.interrupt, settings_.operation_timeout,
        request_.proof ? DirectRanges{} : ranges_of_0_1(provider_.kind));
}

} // namespace rpmem::initiator
