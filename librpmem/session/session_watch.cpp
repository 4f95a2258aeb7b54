// SPDX-License-Identifier: BSD-3-Clause
// The part of Session that receives unsolicited messages and detects the loss of the session.
#include "common/base/io.hpp"
#include "common/base/log.hpp"
#include "common/wire/byte_reader.hpp"
#include "common/wire/medium_failure.hpp"
#include "common/wire/unasked.hpp"
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
    return fmt::format(
        "a message of type {} with status {} and size {} without a request; only the "
        "agreed types of {} (heartbeat), {} (notice), {} (medium failure) and {} "
        "(claim) may arrive then",
        type, status, reader.big_endian<std::uint64_t>(),
        static_cast<unsigned>(wire::MessageType::target_heartbeat),
        static_cast<unsigned>(wire::MessageType::notice),
        static_cast<unsigned>(wire::MessageType::medium_failure),
        static_cast<unsigned>(wire::MessageType::pool_claim));
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

// Output must be readable.
std::optional<Error> Session::read_message() {
    wire::Bytes header(wire::response_header_size);
    const auto got = channel_->receive(header, Deadline(error_text_time_));
    if (got && *got == header.size())
        if (const auto type = unasked(header))
            return take_unasked(*type, std::move(header));
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

// A daemon may only send a type whose capability was agreed on.
std::optional<wire::MessageType> Session::unasked(std::span<const std::byte> header) const {
    const auto type = wire::unasked_type(header);
    const bool agreed = type == wire::MessageType::medium_failure ? agreement_.medium_failure
                        : type == wire::MessageType::pool_claim   ? agreement_.pool_claim
                                                                  : agreement_.resume;
    return agreed ? type : std::nullopt;
}

std::optional<Error> Session::take_unasked(wire::MessageType type, wire::Bytes header) {
    note_activity();
    if (type == wire::MessageType::medium_failure)
        return receive_medium_failure(std::move(header));
    if (type == wire::MessageType::notice)
        return receive_notice(header);
    if (type == wire::MessageType::pool_claim)
        return receive_pool_claim();
    return std::nullopt;
}

std::optional<Error> Session::receive_notice(std::span<const std::byte> header) {
    constexpr std::size_t max_notices = 16; // further ones are dropped until take_notices()
    const auto size = wire::decode_notice_size(header);
    if (!size)
        return malformed(size.error());
    std::string text(*size, '\0');
    const auto got =
        channel_->receive(std::as_writable_bytes(std::span(text)), Deadline(error_text_time_));
    if (!got)
        return incomplete(got.error());
    if (*got < text.size())
        return lost_link(
            fmt::format("the session with {} is lost: it ended after {} of {} bytes of a notice",
                        host_, *got, text.size()));
    if (notices_.size() < max_notices)
        notices_.push_back(printable(text));
    return std::nullopt;
}

// unasked() has checked the size.
std::optional<Error> Session::receive_pool_claim() {
    wire::Bytes body(wire::pool_claim_size - wire::response_header_size);
    const auto got = channel_->receive(body, Deadline(error_text_time_));
    if (!got)
        return incomplete(got.error());
    if (*got < body.size())
        return lost_link(fmt::format(
            "the session with {} is lost: it ended after {} of {} bytes of the claim of a pool",
            host_, *got, body.size()));
    if (const auto claim = wire::decode_pool_claim(body))
        pool_claim_ = *claim;
    return std::nullopt;
}

// MESSAGE is the header. The daemon has sent the rest together with it.
Error Session::receive_medium_failure(wire::Bytes message) {
    const auto size = wire::decode_medium_failure_size(message);
    if (!size)
        return malformed(size.error());
    message.resize(*size);
    const auto got = channel_->receive(std::span(message).subspan(wire::response_header_size),
                                       Deadline(error_text_time_));
    if (!got)
        return incomplete(got.error());
    message.resize(wire::response_header_size + *got);
    const auto failure = wire::decode_medium_failure(message);
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
