// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/connect.hpp"

#include "common/base/deadline.hpp"
#include "common/wire/hello.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::transport {
namespace {

using EventKind = fabric::ConnectionEvent::Kind;

// One receive buffer is enough, because the messages of the handshake and the welcome arrive one at
// a time.
constexpr std::size_t handshake_receives = 1;
constexpr std::size_t handshake_size = 128;

// A slot holds the header of a frame, and a payload that is small enough to copy.
constexpr std::size_t slot_size = 256;

// The bounce buffer for reads of a lane of protocol 0.1 whose destination is not registered.
constexpr std::size_t bounce_buffer_size = std::size_t{128} * 1024;

// Rejects frames that arrive before the lane is open.
class NoFrames final : public Receiver {
    bool begin(const wire::FrameHeader&, std::span<std::byte>&, std::string& why) override {
        why = "sent a frame before the lane was open";
        return false;
    }
    void take(const wire::FrameHeader&, std::size_t, std::span<const std::byte>) override {}
    bool end(const wire::FrameHeader&, std::string&) override { return false; }
};

FabricBuffers buffers(std::size_t receives, std::size_t receive_size, std::size_t queue) {
    return {.receives = receives,
            .receive_size = receive_size,
            .sends = std::min<std::size_t>(queue, max_lane_frames),
            .send_size = slot_size,
            .queue = queue};
}

// Runs the handshake and waits for the welcome.
Result<wire::LaneCredits> open_lane(FabricConnection& connection, FabricGroup& group,
                                    InitiatorHandshake& handshake, const Deadline& deadline,
                                    const ConnectLimits& limits) {
    NoFrames none;
    RPMEM_ASSIGN(const ByteView first, handshake.start());
    RPMEM_TRY(connection.say(first));
    while (true) {
        connection.poll(none);
        if (connection.ended())
            return fail(ErrorClass::link_lost, connection.failure().code, "{}",
                        connection.failure().text);
        if (handshake.is_done())
            return handshake.credits();
        const auto waited =
            group.wait(std::chrono::milliseconds(deadline.poll_timeout()), limits.interrupt.fd);
        if (waited == WaitResult::woken && limits.interrupt.is_lost())
            return fail(ErrorClass::link_lost, ECONNRESET, "the session ended");
        if (deadline.passed())
            return fail(ErrorClass::link_lost, ETIMEDOUT,
                        "the target did not open the lane within {} ms ({})", limits.time.count(),
                        transport::connect_setting);
    }
}

// Waits until the requested connection is established.
Result<> await_connected(const fabric::EventQueue& events, const std::string& where,
                         const ConnectLimits& limits) {
    const Deadline deadline(limits.time);
    std::optional<fabric::ConnectionEvent> event;
    do {
        RPMEM_ASSIGN(event, events.wait(deadline, limits.interrupt.fd));
    } while (!event && !deadline.passed() && !limits.interrupt.is_lost());
    if (!event && !deadline.passed())
        return fail(ErrorClass::link_lost, ECONNRESET, "{} failed: the session ended", where);
    if (!event)
        return fail(ErrorClass::link_lost, ETIMEDOUT,
                    "{} took longer than {} ms ({}); is the port reachable (firewall)?", where,
                    limits.time.count(), transport::connect_setting);
    if (event->kind != EventKind::connected)
        return fail(ErrorClass::link_lost, event->code != 0 ? event->code : ECONNREFUSED,
                    "{} failed: {}", where,
                    event->text.empty() ? "the target refused it" : event->text);
    return {};
}

struct ConnectParameters {
    FabricBuffers buffers;
    wire::LaneEncoding encoding{};
    std::unique_ptr<LaneHandshake> handshake{};
    std::span<const std::byte> connect_data{}; // sent in the connection request
};

Result<OpenedFabricLane> reach(const FabricTarget& target, ConnectParameters parameters,
                               const std::string& where, const ConnectLimits& limits) {
    RPMEM_ASSIGN(auto group,
                 FabricGroup::open(target.domain, fabric::completions_of(target.provider, 1),
                                   target.spin_time));
    RPMEM_ASSIGN(auto connection, FabricConnection::open({.domain = target.domain,
                                                          .provider = target.provider,
                                                          .info = target.provider.info.get(),
                                                          .events = target.events,
                                                          .group = *group,
                                                          .encoding = parameters.encoding},
                                                         parameters.buffers, target.pool, where,
                                                         std::move(parameters.handshake)));
    RPMEM_TRY(group->add(*connection));
    RPMEM_TRY(in_context(where, connection->endpoint().connect(target.provider.info->dest_addr,
                                                               parameters.connect_data)));
    RPMEM_TRY(await_connected(target.events, where, limits));
    return OpenedFabricLane{std::move(group), std::move(connection)};
}

} // namespace

Result<OpenedFabricLane> connect_lane_of_0_1(std::uint32_t lane, const FabricTarget& target,
                                             const std::string& where,
                                             const ConnectLimits& limits) {
    ConnectParameters parameters{
        .buffers = buffers(1, sizeof(wire::PersistResponse), target.queue),
        .encoding = wire::LaneEncoding({.end = wire::LaneEnd::initiator,
                                        .lane = lane,
                                        .remote_base = target.pool.remote->address})};
    if (target.provider.local_registration)
        parameters.buffers.bounce_buffer = bounce_buffer_size;
    auto opened = reach(target, std::move(parameters), where, limits);
    if (opened) // at most one message is in progress
        opened->credits = {.bytes = wire::min_credit_bytes,
                           .payload = wire::inline_size_of_0_1,
                           .frames = 1,
                           .reads = 0};
    return opened;
}

Result<OpenedFabricLane> connect_fabric_lane(const ProofSession& session,
                                             const LaneIdentity& identity,
                                             const FabricTarget& target, const std::string& where,
                                             const ConnectLimits& limits,
                                             std::size_t (*read_piece)(std::size_t)) {
    const Deadline deadline(limits.time);
    auto made = std::make_unique<InitiatorHandshake>(session, identity);
    InitiatorHandshake& handshake = *made;
    const auto connect_data =
        wire::encode(wire::LaneConnectData{identity.lane, session.keys.token});
    RPMEM_ASSIGN(auto opened,
                 reach(target,
                       {.buffers = buffers(handshake_receives, handshake_size, target.queue),
                        .handshake = std::move(made),
                        .connect_data = connect_data},
                       where, limits));
    RPMEM_ASSIGN(const wire::LaneCredits credits,
                 in_context(where, open_lane(*opened.connection, *opened.group, handshake, deadline,
                                             limits)));
    if (credits.frames > max_lane_frames || credits.payload > target.max_payload)
        return fail(ErrorClass::link_lost, EBADMSG,
                    "{}: the target violated the protocol: it sent credits of {} frames and {} "
                    "bytes of payload; the limits are {} and {}",
                    where, credits.frames, credits.payload, max_lane_frames, target.max_payload);
    const std::size_t reads = std::min<std::size_t>(credits.reads, wire::max_reads);
    const std::size_t largest = std::max(read_piece(credits.payload), wire::max_error_text);
    RPMEM_TRY(opened.connection->prepare_for_frames(
        buffers(credits.frames + reads + 2, wire::frame_header_size + largest, target.queue)));
    opened.credits = credits;
    return opened;
}

} // namespace rpmem::transport
