// SPDX-License-Identifier: BSD-3-Clause
// The part of Session that receives unsolicited messages and detects the loss of the session.
#include "common/base/io.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "common/wire/byte_reader.hpp"
#include "common/wire/unsolicited.hpp"
#include "librpmem/session/session.hpp"

#include <poll.h>

#include <cstring>
#include <utility>

namespace rpmem::initiator {
namespace {

Error lost_link(std::string text) { return {ECONNRESET, ErrorClass::link_lost, std::move(text)}; }

// Describes the beginning of a message that arrived while no request was waiting for a response.
std::string describe_unexpected(std::span<const std::byte> bytes) {
    if (bytes.size() < wire::response_header_size)
        return fmt::format("{} bytes and then closed the stream; the header of a message has {}",
                           bytes.size(), wire::response_header_size);
    wire::ByteReader reader(bytes);
    const auto status = reader.big_endian<std::uint32_t>();
    const auto type = reader.big_endian<std::uint32_t>();
    return fmt::format("a message of type {} with status {} and size {} without a request; only {} "
                       "may arrive then, if both ends agreed on them",
                       type, status, reader.big_endian<std::uint64_t>(),
                       wire::list_message_types(true));
}

} // namespace

std::optional<Error> Session::poll_for_loss(WhileInUse while_in_use) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (while_in_use == WhileInUse::wait)
        lock.lock();
    else if (!lock.try_lock())
        return std::nullopt;
    return read_all();
}

// The caller holds the mutex.
std::optional<Error> Session::read_all() {
    if (std::exchange(is_poisoned_, true))
        return poisoned();
    auto loss = read_messages();
    is_poisoned_ = false;
    return loss;
}

Error Session::poisoned() const {
    return lost_link(fmt::format(
        "the session with {} is lost: this process had no memory to read its messages", host_));
}

// ERROR is from Channel::receive(), after the beginning of a message.
Error Session::incomplete(const Error& error) const {
    return lost_link(fmt::format("the session with {} is lost: the rest of a message of rpmemd did "
                                 "not arrive within {} ms: {}",
                                 host_, error_text_time_.count(), error.text));
}

std::optional<Error> Session::read_messages() {
    channel_->collect_error_text();
    // The work is bounded for a daemon that sends without end or byte by byte.
    constexpr int max_messages = 64;
    const Deadline deadline(error_text_time_);
    for (int count = 0; count < max_messages && !deadline.passed(); ++count) {
        pollfd fd = {channel_->output_fd(), POLLIN, 0};
        if (::poll(&fd, 1, 0) <= 0)
            break;
        if (auto loss = read_message())
            return loss;
    }
    return std::nullopt;
}

// Call it only if poll(2) has reported output of the daemon.
std::optional<Error> Session::read_message() {
    wire::Bytes header(wire::response_header_size);
    const auto got = channel_->receive(header, Deadline(error_text_time_));
    if (got && *got == header.size())
        if (const auto type = wire::unsolicited_type(header, agreement_))
            return receive_unsolicited(*type, header);
    if (!got)
        return incomplete(got.error());
    if (*got > 0)
        return lost_link(with_error_text(
            fmt::format("the session with {} is lost: rpmemd violated the protocol: it sent {}",
                        host_, describe_unexpected(std::span(header).first(*got)))));
    const std::string text = with_error_text(fmt::format(
        "the session with {} is lost: rpmemd, or the ssh connection to it, has ended", host_));
    const auto status = channel_->status(Deadline(error_text_time_));
    return lost_link(
        status ? fmt::format("{} ({})", text, describe_end(command_, *status, "", {true, ""}))
               : text);
}

Error Session::ending(std::string_view what) {
    const std::lock_guard lock(mutex_);
    channel_->collect_error_text();
    return lost_link(with_text(fmt::format("the session with {} is lost: {}", host_, what),
                               channel_->error_text()));
}

// Waits only for a moment, because the daemon sends the body together with HEADER.
std::optional<Error> Session::receive_unsolicited(wire::MessageType type,
                                                  std::span<const std::byte> header) {
    note_activity();
    const auto size = wire::decode_unsolicited_size(header);
    if (!size)
        return malformed(size.error());
    wire::Bytes body(*size);
    const auto got = channel_->receive(body, Deadline(error_text_time_));
    if (!got)
        return incomplete(got.error());
    if (*got < body.size()) {
        const std::string text =
            fmt::format("the session ended after {} of {} bytes of a message of type {}", *got,
                        body.size(), static_cast<unsigned>(type));
        // The medium has failed, whatever else the message should have reported.
        if (type == wire::MessageType::medium_failure)
            return malformed({EBADMSG, ErrorClass::target_refused, text});
        return lost_link(fmt::format("the session with {} is lost: {}", host_, text));
    }
    if (type == wire::MessageType::medium_failure)
        return medium_failure(body);
    if (type == wire::MessageType::notice)
        keep_notice(body);
    if (type == wire::MessageType::pool_claim)
        if (const auto claim = wire::decode_pool_claim(body))
            pool_claim_ = *claim;
    if (type == wire::MessageType::pool_state) {
        const auto state = wire::decode_pool_state(body);
        if (!state)
            return malformed(state.error());
        pool_state_ = *state;
    }
    return std::nullopt;
}

void Session::keep_notice(std::span<const std::byte> text) {
    constexpr std::size_t max_notices = 16; // further ones are dropped until take_notices()
    if (notices_.size() < max_notices)
        notices_.push_back(printable(text_of(text)));
}

Error Session::medium_failure(std::span<const std::byte> body) const {
    const auto failure = wire::decode_medium_failure(body);
    if (!failure)
        return malformed(failure.error());
    return {EIO, ErrorClass::medium_failed,
            printable(fmt::format(
                "the medium of {} has failed: {} ({}: {} bytes at offset {} are not durable: {})",
                host_, failure->text, failure->part, failure->length, failure->offset,
                strerror(failure->code)))};
}

std::vector<std::string> Session::take_notices() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? std::exchange(notices_, {}) : std::vector<std::string>();
}

bool Session::is_silent() const {
    return Clock::now().time_since_epoch() - last_activity_.load(std::memory_order_relaxed) >=
           peer_timeout_;
}

Error Session::timeout_error() const {
    return lost_link(fmt::format(
        "the session with {} is lost: nothing has come from rpmemd for {} ms (RPMEM_PEER_TIMEOUT)",
        host_, peer_timeout_.count()));
}

std::optional<Error> Session::beat() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return std::nullopt;
    error_text_time_ = error_text_time_of_beat;
    auto loss = beat_on_channel();
    error_text_time_ = error_text_time;
    return loss;
}

// The caller holds the mutex.
std::optional<Error> Session::beat_on_channel() {
    // The 12 bytes fit into the buffer of the socket, unless nothing was read for minutes.
    constexpr std::chrono::milliseconds send_time(100);
    const bool sent =
        channel_->send(wire::encode(wire::HeartbeatRequest{}), Deadline(send_time)).has_value();
    if (auto loss = read_all())
        return loss;
    if (!sent)
        return lost_link(
            fmt::format("the session with {} is lost: ssh does not accept a heartbeat", host_));
    return is_silent() ? std::optional(timeout_error()) : std::nullopt;
}

void Session::cut() {
    const std::lock_guard lock(mutex_);
    channel_->cut();
}

} // namespace rpmem::initiator
