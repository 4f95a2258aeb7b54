// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/tcp_lanes.hpp"

#include "common/transport/tcp/connect.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "librpmem/lanes/frame_lane.hpp"

#include <cerrno>

namespace rpmem::initiator {
namespace {

// Maximum number of bytes that one call receives in the buffer: acks, and the beginning of data.
// The rest of the data is received directly in its destination.
constexpr std::size_t receive_buffer_size = std::size_t{8} * 1024;

} // namespace

Result<std::unique_ptr<ConnectionLanes>> TcpLanes::open(const LanesRequest& request,
                                                        const Settings& settings,
                                                        std::chrono::milliseconds first_time) {
    std::unique_ptr<TcpLanes> lanes(new TcpLanes(request, settings));
    if (request.tls) {
        RPMEM_ASSIGN(auto tls, transport::TlsContext::make(transport::TlsRole::initiator,
                                                           request.proof->keys.tls));
        lanes->tls_.emplace(std::move(tls));
    }
    RPMEM_ASSIGN(auto first, lanes->connect(0, first_time));
    lanes->put(0, std::move(first));
    return lanes;
}

Result<std::unique_ptr<FrameLane>> TcpLanes::connect(unsigned index,
                                                     std::chrono::milliseconds time) {
    transport::SystemRandom random;
    RPMEM_ASSIGN(auto opened,
                 transport::connect_lane(
                     *request_.proof,
                     {.address = {request_.host, request_.port},
                      .identity = {.lane = index, .generation = request_.proof->generation},
                      .limits = {time, request_.interrupt},
                      .peer_timeout = settings_.peer_timeout,
                      .tls = tls_ ? &*tls_ : nullptr},
                     random));
    auto group = std::make_unique<transport::SocketGroup>(settings_.spin_time, receive_buffer_size);
    RPMEM_TRY(group->add(*opened.connection));
    const wire::LaneTerms terms{.credits = opened.credits,
                                .pool_size = request_.pool_size,
                                .read_only = request_.read_only,
                                .digests = request_.digests};
    return std::make_unique<FrameLane>(std::move(opened.connection), std::move(group), terms,
                                       request_.pool, request_.interrupt,
                                       settings_.operation_timeout);
}

} // namespace rpmem::initiator
