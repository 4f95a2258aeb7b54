#include "transport/tcp/frame_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

using wire::FrameHeader;
using wire::FrameType;

// So much is taken of one connection before others have their turn.
constexpr std::size_t most_of_a_turn = std::size_t{256} * 1024;

constexpr std::size_t word = 8;

iovec iovec_of(std::span<const std::byte> bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
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
    default:
        return Fault::lost;
    }
}

} // namespace

FrameConnection::~FrameConnection() {
    if (stream_)
        stream_->reset();
}

Posted FrameConnection::post(const FrameHeader& header, std::span<const std::byte> piece,
                             More more) {
    if (!can_send())
        return Posted::ended;
    if (waiting_ == most_waiting && !send_waiting(true))
        return Posted::ended;
    if (waiting_ == most_waiting)
        return Posted::full;
    add(header, piece);
    if (more == More::follows && waiting_ < most_waiting)
        return Posted::yes;
    return send_waiting(more == More::follows) ? Posted::yes : Posted::ended;
}

// Whoever broke the rules may be told so.
bool FrameConnection::can_send() const {
    return stream_ && send_code_ == 0 && !is_closing_ &&
           (!ended() || failure_.fault == Fault::broke_protocol);
}

void FrameConnection::add(const FrameHeader& header, std::span<const std::byte> piece) {
    waiting(waiting_) = {wire::encode(header), piece};
    ++waiting_;
    ++posted_;
}

// False: nothing can be sent any more.
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
        forget_sent(static_cast<std::size_t>(sent));
    }
    if (says_bye_) {
        says_bye_ = false;
        stream_->finish();
    }
    return true;
}

void FrameConnection::forget_sent(std::size_t bytes) {
    sent_bytes_ += bytes;
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
    is_closing_ = true;
    says_bye_ = true;
    send_waiting(false);
}

void FrameConnection::let_go() {
    stream_.reset();
    if (!ended())
        failure_ = {Fault::local, ECANCELED, name_ + ": was given up at this end"};
}

std::size_t FrameConnection::poll(Receiver& receiver) {
    if (ended())
        return 0;
    if (waiting_ > 0 && send_code_ == 0)
        send_waiting(false);
    return receive(receiver);
}

std::size_t FrameConnection::receive(Receiver& receiver) {
    std::size_t total = 0;
    while (!ended() && total < most_of_a_turn) {
        std::copy_n(kept_.begin(), kept_size_, buffer_.begin());
        const std::span<std::byte> rest_of_place =
            place_.empty() ? place_ : place_.subspan(position_);
        const std::span<std::byte> room = buffer_.subspan(kept_size_);
        const std::array<iovec, 2> both{iovec_of(rest_of_place), iovec_of(room)};
        const std::span<const iovec> places =
            std::span(both).subspan(rest_of_place.empty() ? 1 : 0);
        const ssize_t got = stream_->receive(places);
        if (got == -EAGAIN) {
            if (send_code_ != 0)
                fail_by(fault_of(send_code_), send_code_, "cannot send");
            break;
        }
        if (got <= 0) {
            const int code = got < 0 ? static_cast<int>(-got) : ECONNRESET;
            const bool in_order = got == 0 && heard_bye_;
            fail_by(in_order ? Fault::closed : fault_of(code), code,
                    in_order   ? "was closed by the peer"
                    : got == 0 ? "ended without a word of the peer"
                               : "cannot receive");
            break;
        }
        const auto bytes = static_cast<std::size_t>(got);
        total += bytes;
        received_bytes_ += bytes;
        const std::size_t in_place = std::min(bytes, rest_of_place.size());
        position_ += in_place;
        if (in_place > 0 && position_ == header_.length && !end(receiver))
            break;
        const std::span<const std::byte> chunk = buffer_.first(kept_size_ + bytes - in_place);
        const std::size_t left = consume(chunk, receiver);
        if (ended())
            break;
        kept_size_ = left;
        std::copy_n(chunk.end() - static_cast<std::ptrdiff_t>(left), left, kept_.begin());
        if (bytes < rest_of_place.size() + room.size())
            break; // there was no more
    }
    return total;
}

// Returns how many bytes at the end are too few to be handed on.
std::size_t FrameConnection::consume(std::span<const std::byte> bytes, Receiver& receiver) {
    while (!bytes.empty()) {
        if (heard_bye_) {
            fail_by(Fault::broke_protocol, EBADMSG, "sent something behind its bye");
            return 0;
        }
        if (!in_payload_) {
            if (bytes.size() < wire::frame_header_size)
                return bytes.size();
            if (!begin(bytes.first<wire::frame_header_size>(), receiver))
                return 0;
            bytes = bytes.subspan(wire::frame_header_size);
        }
        const std::size_t missing = wire::payload_of(header_) - position_;
        std::size_t size = std::min(missing, bytes.size());
        if (!place_.empty()) {
            std::copy_n(bytes.begin(), size,
                        place_.begin() + static_cast<std::ptrdiff_t>(position_));
        } else {
            if (size < missing) { // up to the end of a word of the pool
                const std::size_t beyond = (header_.offset + position_ + size) % word;
                if (size <= beyond)
                    return size;
                size -= beyond;
            }
            if (size > 0)
                receiver.take(header_, position_, bytes.first(size));
        }
        bytes = bytes.subspan(size);
        position_ += size;
        if (size == missing && !end(receiver))
            return 0;
    }
    return 0;
}

bool FrameConnection::begin(std::span<const std::byte, wire::frame_header_size> bytes,
                            Receiver& receiver) {
    const auto header = wire::decode_frame_header(bytes);
    std::string why;
    place_ = {};
    position_ = 0;
    if (header && header->type == FrameType::bye) {
        heard_bye_ = true;
        header_ = {};
        return true;
    }
    if (!header || !receiver.begin(*header, place_, why) ||
        (!place_.empty() && place_.size() != wire::payload_of(*header))) {
        fail_by(Fault::broke_protocol, EBADMSG,
                header ? why : "sent a header that does not have its checksum");
        return false;
    }
    header_ = *header;
    in_payload_ = true;
    return true;
}

bool FrameConnection::end(Receiver& receiver) {
    place_ = {};
    if (!std::exchange(in_payload_, false))
        return true; // a bye
    std::string why;
    if (receiver.end(header_, why))
        return true;
    fail_by(Fault::broke_protocol, EBADMSG, why);
    return false;
}

void FrameConnection::fail_by(Fault fault, int code, std::string_view what) {
    failure_ = {fault, code,
                fmt::format("{}: {}{}{} ({} bytes sent, {} of {} frames still to be sent, {} bytes "
                            "received)",
                            name_, fault == Fault::broke_protocol ? "the peer " : "", what,
                            fault == Fault::broke_protocol || fault == Fault::closed
                                ? std::string()
                                : fmt::format(": {}", strerror(code)),
                            sent_bytes_, waiting_, posted_, received_bytes_)};
}

// What the peer said before goes first: poll() tells of this.
void FrameConnection::send_failed(int code) { send_code_ = code; }

} // namespace rpmem::transport
