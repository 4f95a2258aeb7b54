// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/fabric_connection.hpp"

#include "common/base/cache_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace rpmem::transport {
namespace {

using wire::FrameHeader;
using wire::FrameType;
using Kind = FabricOperation::Kind;

// Larger than any message of a handshake.
constexpr std::size_t max_handshake = 128;

// A device takes longer to gather a second piece than this end takes to copy so few bytes.
constexpr std::size_t max_copied = 256 - wire::frame_header_size;

iovec iovec_of(const std::byte* bytes, std::size_t size) {
    return {const_cast<std::byte*>(bytes), size};
}

} // namespace

Result<std::unique_ptr<FabricConnection>>
FabricConnection::open(const FabricEnd& end, const FabricBuffers& buffers, const FabricPool& pool,
                       std::string name, std::unique_ptr<LaneHandshake> handshake) {
    std::unique_ptr<FabricConnection> made(
        new FabricConnection(end, pool, std::move(name), std::move(handshake)));
    RPMEM_ASSIGN(made->receives_,
                 made->make_places(buffers.receives, buffers.receive_size, Kind::receive));
    RPMEM_ASSIGN(made->sends_, made->make_places(buffers.sends, buffers.send_size, Kind::send,
                                                 std::max(buffers.bounce_buffer, unwanted)));
    if (!made->handshake_)
        made->state_->advance(FabricPhase::open);
    made->numbers_.resize(buffers.sends);
    made->arrived_.resize(buffers.receives);
    made->queue_ = buffers.queue;
    RPMEM_ASSIGN(made->endpoint_,
                 fabric::Endpoint::open(end.domain, end.info, end.events, end.group.completions()));
    return made;
}

Result<FabricConnection::MessageBuffers> FabricConnection::make_places(std::size_t count,
                                                                       std::size_t size, Kind kind,
                                                                       std::size_t bytes_behind) {
    MessageBuffers places;
    places.size = size;
    const std::size_t step = up_to_cache_lines(size);
    const std::size_t all = count * step + bytes_behind;
    // Uninitialised, because untouched pages use no memory unless they are locked.
    places.memory.reset(new (std::nothrow) std::byte[all]);
    if (!places.memory)
        return fail(ErrorClass::resource_limit, ENOMEM,
                    "no memory for the {} bytes of message buffers of {}", all, name_);
    RPMEM_ASSIGN(places.region, fabric::register_memory(domain_, provider_, places.memory.get(),
                                                        all, fabric::Access::local));
    places.behind = {places.memory.get() + count * step, bytes_behind};
    places.operations.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        places.operations[i] = {
            .connection = this, .kind = kind, .place = places.memory.get() + i * step};
    return places;
}

FabricConnection::~FabricConnection() {
    abandon();
    state_->advance(FabricPhase::ended);
}

void FabricConnection::abandon() {
    if (sending_ == Sending::not_ours)
        return;
    if (!ended())
        failure_ = abandoned(name_);
    state_->advance(FabricPhase::ended);
    // After fi_shutdown(3), the sockets provider closes its descriptor a second time when the peer
    // shuts down as well. The number may belong to another file by then.
    if (endpoint_ && provider_.kind != fabric::ProviderKind::sockets)
        endpoint_.shut_down();
    endpoint_.close();
    arrived_count_ = 0;
}

// On failure the caller must remove the connection, because receives may be posted already.
Result<> FabricConnection::start() {
    RPMEM_TRY(post_all());
    return accepts_ ? endpoint_.accept() : Result<>();
}

Result<> FabricConnection::post_all() {
    for (FabricOperation& operation : receives_.operations)
        RPMEM_TRY(fabric::checked(post_receive(operation), ErrorClass::resource_limit,
                                  "cannot post a receive buffer of {}", name_));
    return {};
}

int FabricConnection::post_receive(FabricOperation& operation) {
    return endpoint_.post_receive(operation.place, receives_.size, receives_.region.descriptor(),
                                  &operation);
}

Result<> FabricConnection::prepare_for_frames(const FabricBuffers& buffers) {
    handshake_.reset();
    RPMEM_ASSIGN(auto receives, make_places(buffers.receives, buffers.receive_size, Kind::receive));
    first_receives_ = std::exchange(receives_, std::move(receives));
    arrived_.assign(buffers.receives, {});
    first_arrived_ = 0;
    state_->advance(FabricPhase::open);
    return post_all();
}

void FabricConnection::ended_well(FabricOperation& operation, std::size_t size) {
    has_news_ = true;
    switch (operation.kind) {
    case Kind::receive:
        if (arrived_count_ < arrived_.size())
            arrived_[(first_arrived_ + arrived_count_++) % arrived_.size()] = {&operation, size};
        return;
    case Kind::send:
        while (open_sends_ > 0) { // earlier sends have completed as well
            const FabricOperation* const first = &sends_.operations[first_send_];
            first_send_ = (first_send_ + 1) % numbers_.size();
            --open_sends_;
            if (first == &operation)
                break;
        }
        return;
    case Kind::write:
    case Kind::read:
        --(operation.kind == Kind::write ? writes_ : reads_);
        ++direct_ended_;
        return;
    }
}

void FabricConnection::ended_badly(FabricOperation*, int code) { fail_sending(code); }

// Only the first failure is kept.
void FabricConnection::fail_sending(int code) {
    has_news_ = true;
    if (sending_ == Sending::failed)
        return;
    send_code_ = code;
    enter(Sending::failed);
}

bool FabricConnection::can_send() const {
    return endpoint_ && sending_ == Sending::open && (!ended() || can_notify_peer(failure_.fault));
}

PostResult FabricConnection::posted(int status) {
    if (status == 0)
        return PostResult::yes;
    if (status == -FI_EAGAIN) {
        group_.expect_room();
        return PostResult::full;
    }
    fail_sending(-status);
    return PostResult::ended;
}

PostResult FabricConnection::post(const FrameHeader& header, std::span<const std::byte> piece,
                                  More) {
    if (!can_send() || handshake_)
        return PostResult::ended;
    wire::FrameBytes place;
    const std::span<const std::byte> encoded = encoding_.encode(header, place);
    if (encoded.empty())
        return PostResult::ended;
    const std::size_t size = encoded.size() + piece.size();
    // An error or a bye is not injected, because the owner waits for its completion, and an
    // injected message has none.
    const bool is_last = header.type == FrameType::error || header.type == FrameType::bye;
    const bool fits = piece.size() <= max_copied && size <= provider_.inject_size;
    const PostResult posted =
        fits && !is_last ? send_inside(encoded, piece) : send_from_slot(encoded, piece, is_last);
    if (posted == PostResult::yes)
        ++posted_;
    return posted;
}

PostResult FabricConnection::send_inside(std::span<const std::byte> header,
                                         std::span<const std::byte> piece) {
    std::array<std::byte, wire::frame_header_size + max_copied> frame;
    std::memcpy(frame.data(), header.data(), header.size());
    std::copy_n(piece.begin(), piece.size(), frame.data() + header.size());
    return posted(endpoint_.inject(frame.data(), header.size() + piece.size()));
}

// Requests a completion only for some sends, because processing one takes longer than sending. A
// completion covers all earlier sends as well.
PostResult FabricConnection::send_from_slot(std::span<const std::byte> header,
                                            std::span<const std::byte> piece, bool is_last) {
    if (is_full() || open_sends_ == numbers_.size())
        return PostResult::full;
    const std::size_t index = (first_send_ + open_sends_) % numbers_.size();
    FabricOperation& operation = sends_.operations[index];
    std::byte* const slot = operation.place;
    std::memcpy(slot, header.data(), header.size());
    const bool is_lent = is_within(piece, lent_);
    const bool is_copied =
        piece.size() <= max_copied || (!is_lent && !is_within(piece, pool_.memory));
    if (is_copied && header.size() + piece.size() > sends_.size)
        return posted(-EMSGSIZE);
    if (is_copied)
        std::copy_n(piece.begin(), piece.size(), slot + header.size());
    const std::array<iovec, 2> places{
        iovec_of(slot, header.size() + (is_copied ? piece.size() : 0)),
        iovec_of(piece.data(), piece.size())};
    std::array<void*, 2> descriptors{sends_.region.descriptor(),
                                     is_lent ? lent_region_.descriptor() : pool_.descriptor};
    const bool tells = is_last || (quiet_sends_ + 1) * 4 >= numbers_.size();
    const PostResult sent =
        posted(endpoint_.post_send(std::span(places).first(is_copied ? 1 : 2), descriptors,
                                   tells ? FI_COMPLETION : 0, &operation));
    if (sent == PostResult::yes) {
        numbers_[index] = posted_ + 1;
        ++open_sends_;
        quiet_sends_ = tells ? 0 : quiet_sends_ + 1;
    }
    return sent;
}

Result<> FabricConnection::say(ByteView message) {
    if (message.empty())
        return {};
    // There is room, because nothing else is in progress yet.
    FabricOperation& operation = sends_.operations[(first_send_ + open_sends_) % numbers_.size()];
    std::copy(message.begin(), message.end(), operation.place);
    const iovec place = iovec_of(operation.place, message.size());
    void* descriptor = sends_.region.descriptor();
    RPMEM_TRY(fabric::checked(
        endpoint_.post_send({&place, 1}, {&descriptor, 1}, FI_COMPLETION, &operation),
        ErrorClass::link_lost, "{}: cannot send", name_));
    numbers_[(first_send_ + open_sends_++) % numbers_.size()] = 1;
    return {};
}

std::uint64_t FabricConnection::released() const {
    return open_sends_ == 0 ? posted_ : numbers_[first_send_] - 1;
}

std::size_t FabricConnection::poll(Receiver& receiver) {
    const bool is_lost = state_->phase() == FabricPhase::lost;
    if (arrived_count_ == 0 || is_lost)
        group_.look();
    has_news_ = false;
    receive_again(nullptr);
    std::size_t bytes = std::exchange(direct_ended_, 0);
    while (arrived_count_ > 0 && !ended()) {
        const Completed arrived = arrived_[first_arrived_];
        first_arrived_ = (first_arrived_ + 1) % arrived_.size();
        --arrived_count_;
        bytes += take(arrived, receiver);
    }
    if (ended()) // input after a protocol violation is dropped
        arrived_count_ = 0;
    if (is_lost)
        fail_sending(ECONNRESET);
    if (!ended() && sending_ == Sending::failed)
        end_by(Fault::lost, send_code_,
               handshake_           ? "ended before it was open"
               : encoding_.is_0_1() ? "was closed by the peer"
                                    : "the peer ended it without a bye");
    if (bytes > 0) // messages arrive as a whole, so each one is progress
        group_.progressed();
    return bytes;
}

std::size_t FabricConnection::take(const Completed& arrived, Receiver& receiver) {
    FabricOperation& operation = *arrived.operation;
    const ByteView message(operation.place, arrived.size);
    // The buffer is posted again before the response is sent, because the peer sends its next
    // message after the response.
    if (handshake_) {
        std::array<std::byte, max_handshake> copy;
        const std::size_t size = std::min(message.size(), copy.size());
        std::copy_n(message.begin(), size, copy.begin());
        if (handshake_->expects_more())
            receive_again(&operation);
        receive_handshake(ByteView(copy).first(size));
        return size;
    }
    take_frame(message, receiver);
    if (!ended())
        receive_again(&operation);
    return arrived.size;
}

void FabricConnection::receive_handshake(ByteView message) {
    const auto answer = handshake_->take(message);
    if (const auto said = answer ? say(*answer) : Failure(answer.error()); !said)
        return end_by(Fault::lost, said.error().code, said.error().text);
    if (accepts_ && handshake_->is_done()) {
        handshake_.reset();
        state_->advance(FabricPhase::open);
    }
}

void FabricConnection::take_frame(ByteView message, Receiver& receiver) {
    const auto broken = [this](std::string_view what) {
        end_by(Fault::broke_protocol, EBADMSG, what);
    };
    ByteView payload = message;
    wire::DecodeFailure failure;
    const auto header = encoding_.decode(payload, posted_, failure);
    if (!header)
        return end_by(failure.is_damaged ? Fault::damaged : Fault::broke_protocol, EBADMSG,
                      failure.text);
    std::string why;
    if (header->type == FrameType::bye && payload.empty())
        return end_by(Fault::closed, ECONNRESET, "was closed by the peer");
    std::span<std::byte> place;
    if (payload.size() != wire::payload_of(*header))
        return broken(fmt::format("sent a frame of {} bytes with {} bytes of payload",
                                  header->length, payload.size()));
    if (!receiver.begin(*header, place, why))
        return broken(why);
    if (!place.empty() && place.size() != payload.size())
        return broken(
            fmt::format("sent {} bytes of data, expected {}", payload.size(), place.size()));
    if (!place.empty())
        std::copy(payload.begin(), payload.end(), place.begin());
    else if (!payload.empty())
        receiver.take(*header, 0, payload);
    if (!receiver.end(*header, why))
        broken(why);
}

void FabricConnection::close() {
    if (!can_send())
        return;
    static_cast<void>(post({.type = FrameType::bye}, {}, More::none));
    if (sending_ == Sending::open)
        enter(Sending::closing);
}

void FabricConnection::end_by(Fault fault, int code, std::string_view what) {
    const bool has_reason = fault == Fault::lost && code != ECONNRESET && !handshake_;
    failure_ = {fault, code,
                fmt::format("{}: {}{}{}{} ({} of {} frames unsent)", name_,
                            fault == Fault::broke_protocol ? "the peer " : "", what,
                            has_reason ? ": " : "", has_reason ? fabric::explain(code) : "",
                            posted_ - released(), posted_)};
    if (!can_notify_peer(fault))
        state_->advance(FabricPhase::ended);
}

// After a malformed or damaged frame the connection stays open until the peer has closed it, so
// that the peer can receive the error. It ends at once if the error cannot be sent.
int FabricConnection::fd() const {
    const bool is_over = sending_ == Sending::failed || state_->phase() == FabricPhase::lost ||
                         (sending_ == Sending::closing && encoding_.is_0_1());
    return !endpoint_ || is_over ? -1 : 0;
}

} // namespace rpmem::transport
