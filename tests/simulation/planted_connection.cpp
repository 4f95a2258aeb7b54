#include "tests/simulation/planted_connection.hpp"

namespace rpmem::simulation {

using transport::PostResult;
using wire::FrameType;

PostResult PlantedConnection::post(const wire::FrameHeader& header,
                                   std::span<const std::byte> piece, transport::More more) {
    if (header.type != FrameType::ack)
        return ForwardingConnection::post(header, piece, more);
    if (header.number <= acknowledged_)
        return PostResult::yes; // was sent too early
    ++acks_;
    if (planted_ == Planted::lost_credit && acks_ == 3)
        return PostResult::yes;
    if (planted_ == Planted::stale_ack && acks_ == 3)
        static_cast<void>(ForwardingConnection::post(
            {.type = FrameType::ack, .number = acknowledged_}, {}, more));
    acknowledged_ = header.number;
    return ForwardingConnection::post(header, piece, more);
}

// Of one that has gone.
int PlantedConnection::fd() const {
    return planted_ == Planted::left_early && ended() ? -1 : ForwardingConnection::fd();
}

std::size_t PlantedConnection::poll(transport::Receiver& receiver) {
    receiver_ = &receiver;
    return ForwardingConnection::poll(*this);
}

bool PlantedConnection::end(const wire::FrameHeader& header, std::string& why) {
    if (planted_ == Planted::ack_before_persist &&
        (header.flags & wire::frame_flag::answer_wanted) != 0)
        static_cast<void>(
            post({.type = FrameType::ack, .number = header.number}, {}, transport::More::none));
    return receiver_->end(header, why);
}

} // namespace rpmem::simulation
