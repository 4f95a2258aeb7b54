// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tcp/frame_connection.hpp"

#include "common/base/hot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

using wire::FrameHeader;
using wire::FrameType;

// poll() receives about this many bytes before other connections have their turn.
constexpr std::size_t max_per_turn = std::size_t{256} * 1024;

constexpr std::size_t word = 8;

// The kernel takes longer to process a second piece than this end takes to copy so few bytes.
constexpr std::size_t max_copied = 224;

iovec iovec_of(std::span<const std::byte> bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// TCP_USER_TIMEOUT and keepalive use the same time.
constexpr const char* no_acknowledgement =
    "the peer's kernel acknowledged nothing within RPMEM_PEER_TIMEOUT (target: peer-timeout)";

[[gnu::cold]] std::string misfit(std::size_t sent, std::size_t expected) {
    return fmt::format("sent {} bytes of data, expected {}", sent, expected);
}

Fault fault_of(int code) {
    switch (code) {
    case ETIMEDOUT:
        return Fault::silent;
    case EFAULT:
        return Fault::medium;
    case ENOMEM:
    case ENOBUFS:
        return Fault::local;
    case EPROTO: // a violation of TLS
        return Fault::damaged;
    default:
        return Fault::lost;
    }
}

} // namespace

// Resets the connection, unless all frames were sent and one of the ends has sent a bye.
FrameConnection::~FrameConnection() {
    const bool in_order = sending_ == Sending::closing || sending_ == Sending::finished ||
                          failure_.fault == Fault::closed;
    if (stream_ && (!in_order || unsent()))
        stream_->reset();
}

RPMEM_NO_CANARY PostResult FrameConnection::post(const FrameHeader& header,
                                                 std::span<const std::byte> piece, More more) {
    if (!can_send()) [[unlikely]]
        return PostResult::ended;
    if (waiting_ == 0 && more == More::none && piece.size() <= max_copied) [[likely]]
        return send_alone(header, piece);
    if (waiting_ == max_waiting && !send_waiting(true))
        return PostResult::ended;
    if (waiting_ == max_waiting)
        return PostResult::full;
    add(header, piece);
    if (more == More::follows && waiting_ < max_waiting)
        return PostResult::yes;
    return send_waiting(more == More::follows) ? PostResult::yes : PostResult::ended;
}

// Sends a small frame with one copy and one call. The bytes that the stream does not accept are
// queued.
[[gnu::always_inline]] inline PostResult
FrameConnection::send_alone(const FrameHeader& header, std::span<const std::byte> piece) {
    std::array<std::byte, wire::frame_header_size + max_copied> frame;
    wire::encode(header, frame.data());
    std::copy_n(piece.begin(), piece.size(), frame.begin() + wire::frame_header_size);
    const iovec whole{frame.data(), wire::frame_header_size + piece.size()};
    const ssize_t sent = stream_->send({&whole, 1}, false);
    if (sent != static_cast<ssize_t>(whole.iov_len)) [[unlikely]]
        return keep_rest(header, piece, sent);
    ++posted_;
    return PostResult::yes;
}

// Queues the rest of a frame of which SENT bytes were sent. SENT may be a negative errno value.
PostResult FrameConnection::keep_rest(const FrameHeader& header, std::span<const std::byte> piece,
                                      ssize_t sent) {
    if (sent < 0 && sent != -EAGAIN) {
        send_failed(static_cast<int>(-sent));
        return PostResult::ended;
    }
    add(header, piece);
    sent_of_first_ = sent > 0 ? static_cast<std::size_t>(sent) : 0;
    return PostResult::yes;
}

// After a failure to send this is true until poll() has reported the failure.
bool FrameConnection::unsent() const {
    if (!stream_ || receiving_ == Receiving::ended)
        return false;
    if (sending_ == Sending::failed)
        return receiving_ != Receiving::broken;
    return waiting_ > 0 || sending_ == Sending::closing || stream_->pending();
}

void FrameConnection::add(const FrameHeader& header, std::span<const std::byte> piece) {
    waiting(waiting_) = {wire::encode(header), piece};
    ++waiting_;
    ++posted_;
}

// Returns false if nothing can be sent any more.
bool FrameConnection::send_waiting(bool more) {
    std::array<iovec, 2 * ring_size> pieces;
    while (waiting_ > 0) {
        std::size_t count = 0;
        std::size_t skip = sent_of_first_;
        for (std::size_t i = 0; i < waiting_; ++i) {
            const Frame& frame = waiting(i);
            for (const std::span<const std::byte> part :
                 {std::span<const std::byte>(frame.header), frame.piece}) {
                const std::size_t skipped = std::min(skip, part.size());
                skip -= skipped;
                if (skipped < part.size())
                    pieces[count++] = iovec_of(part.subspan(skipped));
            }
        }
        const ssize_t sent = stream_->send(std::span(pieces).first(count), more);
        if (sent == -EAGAIN)
            return true;
        if (sent < 0) {
            send_failed(static_cast<int>(-sent));
            return false;
        }
        consume_sent(static_cast<std::size_t>(sent));
    }
    if (sending_ == Sending::closing) {
        enter(Sending::finished);
        stream_->finish();
    }
    return true;
}

void FrameConnection::consume_sent(std::size_t bytes) {
    sent_of_first_ += bytes;
    while (waiting_ > 0) {
        const std::size_t size = wire::frame_header_size + waiting(0).piece.size();
        if (sent_of_first_ < size)
            return;
        sent_of_first_ -= size;
        first_ = (first_ + 1) % ring_size;
        --waiting_;
    }
}

void FrameConnection::close() {
    if (!can_send())
        return;
    add({.type = FrameType::bye}, {});
    enter(Sending::closing);
    send_waiting(false);
}

// Only closes the descriptor, because neither malloc(3) nor free(3) may be called after fork(2).
void FrameConnection::release_in_child() {
    if (stream_)
        stream_->release_in_child();
    enter(Sending::failed);
    enter(Receiving::ended);
}

void FrameConnection::abandon() {
    drop();
    if (ended())
        return;
    failure_ = abandoned(name_);
    enter(Receiving::ended);
}

void FrameConnection::drop() {
    stream_.reset();
    enter(Sending::failed);
}

// Drops input until the peer closes the connection. Closing a socket with unread input resets the
// connection, and the peer might never receive the error frame.
void FrameConnection::poll_broken() {
    if (!stream_)
        return;
    if (waiting_ > 0 && sending_ != Sending::failed)
        send_waiting(false);
    const std::array<iovec, 1> places{iovec_of(buffer_)};
    for (std::size_t total = 0; total < max_per_turn;) {
        const ssize_t got = stream_->receive(places);
        if (got == -EAGAIN)
            return;
        if (got <= 0)
            return drop();
        total += static_cast<std::size_t>(got);
    }
}

void FrameConnection::cannot_receive(ssize_t got, bool asked_network) {
    if (got == -EAGAIN) { // all earlier input was consumed: report a failure to send
        if (asked_network && sending_ == Sending::failed)
            fail_by(fault_of(send_code_), send_code_,
                    send_code_ == ETIMEDOUT ? no_acknowledgement : "cannot send");
        return;
    }
    const int code = got < 0 ? static_cast<int>(-got) : ECONNRESET;
    const bool in_order = got == 0 && receiving_ == Receiving::bye;
    fail_by(in_order ? Fault::closed : fault_of(code), code,
            in_order            ? "was closed by the peer"
            : got == 0          ? "the peer ended it without a bye"
            : code == EPROTO    ? "received invalid data"
            : code == ETIMEDOUT ? no_acknowledgement
                                : "cannot receive");
}

[[gnu::always_inline]] inline bool
FrameConnection::begin(std::span<const std::byte, wire::frame_header_size> bytes,
                       Receiver& receiver) {
    if (!wire::decode(bytes, header_)) [[unlikely]]
        return damaged(wire::damage_of_header(bytes));
    if (header_.type == FrameType::bye) [[unlikely]] {
        enter(Receiving::bye);
        return true;
    }
    if (!receiver.begin(header_, place_, why_)) [[unlikely]]
        return broke(why_);
    if (header_.length == 0 || wire::payload_of(header_) == 0) // the cheap test suffices for acks
        return receiver.end(header_, why_) || broke(why_);
    enter(Receiving::payload);
    return place_.empty() || place_.size() == header_.length ||
           broke(misfit(header_.length, place_.size()));
}

// Processes frames and parts of them. Returns the bytes at the end that are too few for a header or
// for a chunk.
[[gnu::always_inline]] inline std::span<const std::byte>
FrameConnection::consume(std::span<const std::byte> bytes, Receiver& receiver) {
    while (!bytes.empty()) {
        std::size_t taken = 0;
        if (receiving_ != Receiving::header)
            taken = deliver(bytes, receiver);
        else if (bytes.size() >= wire::frame_header_size &&
                 begin(bytes.first<wire::frame_header_size>(), receiver))
            taken = wire::frame_header_size;
        if (taken == 0) [[unlikely]]
            return bytes.first(ended() ? 0 : bytes.size());
        bytes = bytes.subspan(taken);
    }
    return bytes;
}

// Delivers BYTES of a payload to RECEIVER and returns how many were consumed. Returns 0 if they are
// too few or the connection has ended.
std::size_t FrameConnection::deliver(std::span<const std::byte> bytes, Receiver& receiver) {
    if (receiving_ == Receiving::bye) {
        broke("sent data after its bye");
        return 0;
    }
    const std::size_t missing = header_.length - position_;
    std::size_t size = std::min(missing, bytes.size());
    if (!place_.empty()) {
        std::copy_n(bytes.begin(), size, place_.begin());
    } else {
        if (size < missing) { // end the chunk at the end of a word in the pool
            const std::size_t beyond = (header_.offset + position_ + size) % word;
            if (size <= beyond)
                return 0;
            size -= beyond;
        }
        receiver.take(header_, position_, bytes.first(size));
    }
    return advance(size, receiver) ? size : 0;
}

// Records that SIZE more bytes of the payload were delivered. Returns false if the frame is
// complete and violates the protocol.
bool FrameConnection::advance(std::size_t size, Receiver& receiver) {
    position_ += size;
    if (!place_.empty())
        place_ = place_.subspan(size);
    if (position_ < header_.length)
        return true;
    position_ = 0;
    enter(Receiving::header);
    return receiver.end(header_, why_) || broke(why_);
}

// Receives from SOURCE and returns the number of bytes. Sets SOURCE to where more bytes may be. If
// the network fills less than the available room, it has no more bytes. Bytes that the stream keeps
// must be consumed before this thread sleeps, because the descriptor does not report them.
[[gnu::always_inline]] inline std::size_t FrameConnection::receive(Receiver& receiver,
                                                                   Source& source) {
    if (kept_size_ > 0) [[unlikely]]
        std::copy_n(kept_.begin(), kept_size_, buffer_.begin());
    std::array<iovec, 2> both;
    std::span<const iovec> places = std::span(both).last(1);
    std::size_t room = buffer_.size() - kept_size_;
    both[1] = iovec_of(buffer_.last(room));
    if (!place_.empty()) [[unlikely]] {
        both[0] = iovec_of(place_);
        places = both;
        room += place_.size();
    }
    const bool asks_network = source == Source::network;
    const ssize_t got = asks_network ? stream_->receive(places) : stream_->receive_kept(places);
    source = Source::none;
    if (got <= 0) {
        cannot_receive(got, asks_network);
        return 0;
    }
    const auto bytes = static_cast<std::size_t>(got);
    if (asks_network && bytes == room) [[unlikely]]
        source = Source::network;
    else if (stream_->has_kept()) [[unlikely]]
        source = Source::kept;
    std::size_t in_place = 0;
    if (!place_.empty()) [[unlikely]] {
        in_place = std::min(bytes, place_.size());
        if (!advance(in_place, receiver))
            return bytes;
    }
    const std::span<const std::byte> rest =
        consume(buffer_.first(kept_size_ + bytes - in_place), receiver);
    kept_size_ = rest.size();
    if (kept_size_ > 0) [[unlikely]]
        std::ranges::copy(rest, kept_.begin());
    return bytes;
}

RPMEM_NO_CANARY std::size_t FrameConnection::poll(Receiver& receiver) {
    if (ended()) [[unlikely]] {
        if (receiving_ == Receiving::broken)
            poll_broken();
        return 0;
    }
    if (waiting_ > 0 && sending_ != Sending::failed) [[unlikely]]
        send_waiting(false);
    Source source = Source::network;
    const std::size_t bytes = receive(receiver, source);
    return source == Source::none ? bytes : receive_more(receiver, bytes, source);
}

// Continues poll() after BYTES were received.
std::size_t FrameConnection::receive_more(Receiver& receiver, std::size_t bytes, Source source) {
    while (source != Source::none && !ended()) {
        if (bytes >= max_per_turn)
            source = Source::kept;
        bytes += receive(receiver, source);
    }
    return bytes;
}

// Fails because the peer violated the protocol. Returns false, for the caller to return.
bool FrameConnection::broke(std::string_view what) {
    fail_by(Fault::broke_protocol, EBADMSG, what);
    return false;
}

bool FrameConnection::damaged(std::string_view what) {
    fail_by(Fault::damaged, EBADMSG, what);
    return false;
}

void FrameConnection::fail_by(Fault fault, int code, std::string_view what) {
    std::string why;
    if (code == EPROTO || (code != EBADMSG && fault != Fault::closed)) {
        const std::string_view known = stream_ ? stream_->reason() : std::string_view();
        why = fmt::format(": {}", known.empty() ? strerror(code) : known);
    }
    failure_ = {fault, code,
                fmt::format("{}: {}{}{} ({} of {} frames unsent)", name_,
                            fault == Fault::broke_protocol ? "the peer " : "", what, why, waiting_,
                            posted_)};
    enter(can_notify_peer(fault) ? Receiving::broken : Receiving::ended);
}

// poll() reports the failure after it has delivered the frames that arrived before.
void FrameConnection::send_failed(int code) {
    send_code_ = code;
    enter(Sending::failed);
}

} // namespace rpmem::transport
