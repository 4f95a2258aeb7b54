// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/session.hpp"

#include "common/base/io.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "librpmem/session/start_channel.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace rpmem::initiator {
namespace {

using wire::MessageType;

// Limit of undo_create(), because a failed call must not take much longer to clean up.
constexpr std::chrono::milliseconds undo_time(5000);

// The largest errno value. The initial status may be an errno value. Text of a shell in its place
// gives a larger number.
constexpr int last_errno = 4095;

// Maximum number of bytes that are read of unexpected output.
constexpr std::size_t max_unexpected_output = 1024;

// Added to the text of a timeout, because a program that waits for input causes one.
constexpr std::string_view never_started =
    ". Something else may run there in place of the command: a shell that a start-up file runs "
    "with exec, or a ForceCommand of sshd such as internal-sftp or cat";

} // namespace

Result<std::unique_ptr<Session>> Session::start(const Target& target, const std::string& command,
                                                bool force_ipv4, const Settings& settings,
                                                std::chrono::milliseconds time) {
    const Limit limit{std::min(time, settings.connect_timeout), settings.connect_timeout,
                      "RPMEM_CONNECT_TIMEOUT"};
    const Deadline deadline(limit.time);
    auto channel = in_context("out-of-band connection to " + target.host + " failed",
                              start_channel(target, wire::with_offer(command, settings.offer),
                                            force_ipv4, settings, deadline));
    if (!channel && channel.error().code == ETIMEDOUT)
        channel.error().text +=
            fmt::format(" (waited {} ms; {})", limit.time.count(), limit.text());
    RPMEM_TRY(channel);
    std::unique_ptr<Session> session(new Session(std::move(*channel),
                                                 remote_command(target, command, settings),
                                                 target.host, settings, limit));
    RPMEM_TRY(session->await_ready(deadline));
    return session;
}

Result<> Session::await_ready(const Deadline& deadline) {
    std::array<std::byte, wire::initial_status_size> bytes;
    const auto got = channel_->receive(bytes, deadline);
    if (!got)
        return not_received(got.error(), "for rpmemd to start", login_limit_, never_started);
    const auto came = std::span(bytes).first(*got);
    if (*got > 0 && *got < bytes.size())
        return unexpected_output(came);
    if (*got == 0)
        return ended_early("before rpmemd was ready");
    RPMEM_ASSIGN(const auto status, wire::decode_initial_status(bytes));
    if (status != 0 && status != wire::hello_status && (status < 0 || status > last_errno))
        return unexpected_output(came);
    spoke_ = true;
    if (status == 0 && requires_hello_)
        return fail(ErrorClass::target_refused, EPROTO,
                    "{} speaks protocol 0.1, which is refused (RPMEM_REQUIRE_HELLO=1, or "
                    "RPMEM_TLS=require): its rpmemd is 1.12.1's or older, or the login shell or a "
                    "forced command there has dropped the variable {}",
                    host_, wire::offer_variable);
    if (status == 0)
        return {};
    if (status == wire::hello_status)
        return exchange_hellos(deadline);
    return fail(
        ErrorClass::target_refused, status, "{}",
        with_error_text(fmt::format("rpmemd on {} cannot serve: {}", host_, strerror(status))));
}

// BEGINNING was received instead of the initial status.
Failure Session::unexpected_output(std::span<const std::byte> beginning) {
    std::string text = text_of(beginning);
    text += channel_->output_there(max_unexpected_output);
    // A hello has the secret of the session, which must not appear in a log.
    const auto word = wire::encode_initial_status(wire::hello_status);
    const std::string_view hello(reinterpret_cast<const char*>(word.data()), word.size());
    text.resize(std::min(text.size(), text.find(hello)));
    return fail(ErrorClass::target_refused, EPROTO, "{}",
                with_text(describe_unexpected_output(command_, text), channel_->error_text()));
}

Result<> Session::exchange_hellos(const Deadline& deadline) {
    wire::Bytes bytes(wire::hello_size_field);
    auto got = channel_->receive(bytes, deadline);
    if (!got)
        return not_received(got.error(), "for the hello of rpmemd", login_limit_);
    if (*got < bytes.size())
        return ended_early("within its hello");
    RPMEM_ASSIGN(const auto size, understood(wire::decode_hello_size(bytes, wire::hello_size)));
    bytes.resize(size);
    const auto rest = std::span(bytes).subspan(wire::hello_size_field);
    got = channel_->receive(rest, deadline);
    if (!got)
        return not_received(got.error(), "for the hello of rpmemd", login_limit_);
    if (*got < rest.size())
        return ended_early("within its hello");
    RPMEM_ASSIGN(auto hello, understood(wire::decode_hello(bytes)));
    const wire::HelloAnswer answer = wire::answer_to(hello, {.tls = takes_tls_});
    const wire::Bytes answered = wire::encode(answer);
    RPMEM_ASSIGN(agreement_, in_context("rpmemd on " + host_, wire::negotiate(hello, answer)));
    RPMEM_ASSIGN(transcript_, transport::ControlTranscript::make(hello.secret, bytes, answered));
    ::explicit_bzero(hello.secret.data(), hello.secret.size());
    ::explicit_bzero(bytes.data(), bytes.size());
    hello_ = std::move(hello);
    if (!channel_->send(answered, deadline))
        return deadline.passed()
                   ? timed_out("for rpmemd to read the answer to its hello", login_limit_)
                   : ended_early("before it read the answer to its hello");
    return {};
}

Failure Session::ended_early(std::string_view when) {
    const auto status = channel_->finish(Deadline(error_text_time));
    const std::string context = fmt::format("out-of-band connection to {} failed", host_);
    if (!status)
        return fail(ErrorClass::link_lost, ECONNRESET, "{}",
                    with_text(fmt::format("{}: the output of the remote command '{}' ended {}, but "
                                          "the command has not ended",
                                          context, command_.command, when),
                              channel_->error_text()));
    return fail(ErrorClass::link_lost, ECONNRESET, "{}: {}", context,
                describe_end(command_, *status, when, {spoke_, channel_->error_text()}));
}

std::string Session::Limit::text() const {
    return time < max ? "that is the limit while reconnecting"
                      : fmt::format("{} sets the limit", setting);
}

Failure Session::timed_out(std::string_view when, const Limit& limit, std::string_view hint) {
    channel_->collect_error_text();
    return fail(ErrorClass::link_lost, ETIMEDOUT, "{}",
                with_text(fmt::format("waited {} ms {} on {}; {}{}", limit.time.count(), when,
                                      host_, limit.text(), hint),
                          channel_->error_text()));
}

// ERROR is from Channel::receive().
Failure Session::not_received(const Error& error, std::string_view when, const Limit& limit,
                              std::string_view hint) {
    if (error.code == ETIMEDOUT)
        return timed_out(when, limit, hint);
    return fail(ErrorClass::link_lost, ECONNRESET, "out-of-band connection to {} failed: {}", host_,
                error.text);
}

// Appends the error text to TEXT. Waits for the rest of it, because the daemon is about to end.
std::string Session::with_error_text(const std::string& text) {
    const Deadline deadline(error_text_time_);
    while (channel_->error_fd() >= 0 && !deadline.passed()) {
        const auto ready = wait_readable(channel_->error_fd(), deadline);
        if (!ready || !*ready)
            break;
        channel_->collect_error_text();
    }
    return with_text(text, channel_->error_text());
}

Failure Session::refused(wire::Status status, const char* request) {
    return fail(
        ErrorClass::target_refused, wire::errno_of(status), "{}",
        with_error_text(fmt::format("{} refused {}: {}", host_, request, wire::describe(status))));
}

// The caller holds the mutex.
Result<Session::Response> Session::exchange(const wire::Bytes& request, MessageType response) {
    if (std::exchange(is_poisoned_, true))
        return Failure(poisoned());
    auto answer = exchange_messages(request, response);
    is_poisoned_ = false;
    return answer;
}

Result<Session::Response> Session::exchange_messages(const wire::Bytes& request,
                                                     MessageType response) {
    const Deadline deadline(request_limit_.time);
    if (!channel_->send(request, deadline)) {
        // A daemon that reads nothing any more has ended or is about to. It may have sent the
        // report of a failed medium.
        static_cast<void>(wait_readable(channel_->output_fd(), Deadline(error_text_time)));
        if (const auto loss = read_messages(); loss && loss->kind == ErrorClass::medium_failed)
            return Failure(*loss);
        return deadline.passed() ? timed_out("for rpmemd to read a request", request_limit_)
                                 : ended_early("before it read the request");
    }
    wire::Bytes bytes(wire::response_header_size);
    while (true) {
        const auto got = channel_->receive(bytes, next_word(deadline));
        if (!got && got.error().code == ETIMEDOUT && !deadline.passed())
            return Failure(timeout_error());
        if (!got)
            return not_received(got.error(), "for an answer of rpmemd", request_limit_);
        // A stream of unsolicited messages must not extend the wait for the response.
        if (deadline.passed())
            return timed_out("for an answer of rpmemd", request_limit_);
        if (*got < bytes.size())
            return ended_early("before it answered");
        const auto type = wire::unsolicited_type(bytes, agreement_);
        if (!type)
            break;
        if (auto loss = receive_unsolicited(*type, bytes))
            return Failure(std::move(*loss));
    }
    note_activity();
    RPMEM_ASSIGN(const auto header, understood(wire::decode_response_header(bytes, response)));
    bytes.resize(header.size);
    const auto body = std::span(bytes).subspan(wire::response_header_size);
    const auto got = channel_->receive(body, deadline);
    if (!got)
        return not_received(got.error(), "for the rest of an answer of rpmemd", request_limit_);
    if (*got < body.size())
        return ended_early("before its answer was complete");
    return Response{header, std::move(bytes)};
}

// Returns the time by which the next message, possibly a heartbeat, must have arrived.
Deadline Session::next_word(const Deadline& deadline) const {
    if (!beats_)
        return deadline;
    return Deadline(std::min(peer_timeout_, std::chrono::milliseconds(deadline.poll_timeout())));
}

// REQUEST is CREATE or OPEN. WHAT describes it for a message.
template <typename Response, typename Request>
Result<Response> Session::ask_for_pool(const Request& request, const char* what) {
    const std::lock_guard lock(mutex_);
    const wire::Bytes bytes = wire::encode(request);
    RPMEM_ASSIGN(const auto response, exchange(bytes, Response::type));
    if (response.header.status != wire::Status::success)
        return refused(response.header.status, what);
    RPMEM_ASSIGN(auto answer,
                 understood(wire::decode_response<Response>(response.header, response.body())));
    if (transcript_)
        transcript_->add(bytes, response.bytes);
    beats_ = agreement_.resume;
    return answer;
}

Result<wire::CreateResponse> Session::create(const wire::CreateRequest& request) {
    return ask_for_pool<wire::CreateResponse>(request, "to create the pool");
}

Result<wire::OpenResponse> Session::open(const wire::OpenRequest& request) {
    return ask_for_pool<wire::OpenResponse>(request, "to open the pool");
}

Result<> Session::ask(const wire::Bytes& request, MessageType answer, const char* what) {
    const std::lock_guard lock(mutex_);
    RPMEM_ASSIGN(const auto response, exchange(request, answer));
    if (response.header.status == wire::Status::success)
        return {};
    // The session continues, so the error text does not end here.
    channel_->collect_error_text();
    return fail(ErrorClass::target_refused, wire::errno_of(response.header.status), "{}",
                with_text(fmt::format("{} refused {}: {}", host_, what,
                                      wire::describe(response.header.status)),
                          channel_->error_text()));
}

Result<> Session::set_attributes(const wire::SetAttributesRequest& request) {
    return ask(wire::encode(request), MessageType::set_attributes_response,
               "to set the attributes");
}

Result<> Session::set_replica_state(wire::ReplicaState state) {
    if (!agreement_.compare)
        return fail(ErrorClass::target_refused, ENOTSUP,
                    "rpmemd on {} cannot store the state of the replica: it does not support "
                    "comparing replicas (capability {:#x}); update it",
                    host_, wire::capability_compare);
    return ask(wire::encode(wire::SetReplicaStateRequest{state}),
               MessageType::set_replica_state_response, "to set the state of the replica");
}

Result<> Session::close() {
    const std::lock_guard lock(mutex_);
    RPMEM_ASSIGN(const auto response,
                 exchange(wire::encode(wire::CloseRequest{}), MessageType::close_response));
    if (response.header.status != wire::Status::success)
        return refused(response.header.status, "to close the pool");
    // The pool is closed. If the streams stay open, another process has them, such as a job of the
    // login shell.
    static_cast<void>(channel_->finish(Deadline(std::min(end_time, request_limit_.time))));
    return {};
}

Result<> Session::log_in(const wire::LoginRequest& request) {
    const std::lock_guard lock(mutex_);
    wire::Bytes bytes = wire::encode(request);
    const auto response = exchange(bytes, MessageType::login_response);
    ::explicit_bzero(bytes.data(), bytes.size()); // they may contain the takeover key
    RPMEM_TRY(response);
    generation_ = request.generation;
    if (response->header.status != wire::Status::success)
        return refused(response->header.status, "the login");
    return {};
}

Result<transport::ProofSession> Session::take_proof() {
    auto proof = transcript_->prove_by(0, generation_);
    transcript_.reset();
    return proof;
}

void Session::undo_create() noexcept try {
    const std::lock_guard lock(mutex_);
    const Deadline deadline(std::min(undo_time, request_limit_.time));
    if (channel_->send(wire::encode(wire::CloseRequest{true}), deadline))
        static_cast<void>(channel_->finish(deadline));
} catch (...) {
    // The caller reports why rpmem_create() has failed. The daemon notices the end of the channel.
}

int Session::error_fd() {
    const std::lock_guard lock(mutex_);
    return channel_->error_fd();
}

// After a malformed message the stream cannot be resynchronised. Another session would not help,
// because the same daemon would answer it.
Error Session::malformed(const Error& error) const {
    return {EBADMSG, ErrorClass::target_refused,
            fmt::format("rpmemd on {} violated the protocol: {}", host_, error.text)};
}

} // namespace rpmem::initiator
