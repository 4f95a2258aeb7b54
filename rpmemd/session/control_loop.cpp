// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/control_loop.hpp"

#include "common/base/io.hpp"
#include "common/wire/unsolicited.hpp"
#include "rpmemd/session/control_output.hpp"
#include "rpmemd/session/peer_timeout.hpp"
#include "rpmemd/session/session_signals.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <span>

namespace rpmem::target {
namespace {

// Timeout for the rest of a message after its first byte, and for sending a response.
constexpr std::chrono::seconds message_time(30);

// Timeout for a message while there is no pool. The client may have to find an RDMA device first.
constexpr std::chrono::minutes pool_time(2);

// Returns whether the other end of FD was closed. Data may still be unread.
bool has_hung_up(int fd) {
    pollfd entry = {fd, POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

wire::Bytes joined(wire::Bytes message, std::span<const std::byte> more) {
    message.insert(message.end(), more.begin(), more.end());
    return message;
}

// Interval at which a read-only session checks whether a writer waits for its pool.
constexpr std::chrono::milliseconds give_way_interval(200);

enum class Outcome { go_on, ended, ended_badly };

class ControlLoop {
public:
    ControlLoop(const Configuration& configuration, const Channel& channel,
                HandshakeResult handshake, Log& log)
        : channel_(channel), knows_medium_failure_(handshake.agreement.medium_failure), log_(log),
          output_(channel.output), resumes_(handshake.agreement.resume),
          compares_(handshake.agreement.compare),
          peer_timeout_(
              std::max<std::chrono::milliseconds>(configuration.peer_timeout, wire::min_silence)),
          statistics_(configuration.stats_dir, log),
          session_(
              configuration, channel.addresses, std::move(handshake),
              [input = channel.input] { return has_hung_up(input); }, statistics_, log) {}

    int run();

private:
    Outcome wait_and_handle();
    [[nodiscard]] Result<> wait(std::span<pollfd> fds);
    Outcome end_by_signal();
    Outcome handle_lanes(bool parts_changed);
    Outcome handle_input();
    Outcome handle_request(const wire::Request& request);
    Outcome refuse_malformed(std::span<const std::byte> header, const std::string& why);
    Outcome answer(const wire::Bytes& response, Outcome next, const wire::Bytes& before = {});
    Outcome answer_with_pool(wire::MessageType request, const wire::Bytes& response);
    Outcome refuse(wire::MessageType request, const Error& error, Outcome next);
    Outcome connect_timed_out();
    void send_error_text(const std::string& text);
    Outcome end_badly(const std::string& text);
    void end_lanes(const std::string& text);
    Outcome end_for(const MediumFailure& failure);

    Outcome handle(const wire::CreateRequest& request);
    Outcome handle(const wire::OpenRequest& request);
    Outcome handle(const wire::SetAttributesRequest& request);
    Outcome handle(const wire::CloseRequest& request);
    Outcome handle(const wire::LoginRequest& request);
    Outcome handle(const wire::HeartbeatRequest& request);
    Outcome handle(const wire::SetReplicaStateRequest& request);
    Outcome answer_setting(wire::MessageType request, const Result<>& set, bool in_order,
                           const wire::Bytes& response);

    const Channel& channel_;
    bool knows_medium_failure_; // the peer does, see common/wire/unsolicited.hpp
    Log& log_;
    UniqueFd signals_;
    ControlOutput output_;
    bool resumes_;  // see wire::Agreement::resume
    bool compares_; // see wire::Agreement::compare
    PeerTimeout peer_timeout_;
    PeerTimeout pool_timeout_{pool_time}; // until a pool is open, whatever else arrives
    wire::Bytes request_;                 // the bytes of the current request
    SessionStatistics statistics_;
    Session session_;
    std::optional<Heartbeat> heartbeat_;
    bool peer_reads_errors_ = true;
};

int ControlLoop::run() {
    auto signals = take_over_signals();
    Outcome outcome = signals ? Outcome::go_on : end_badly(signals.error().text);
    signals_ = std::move(signals).value_or(UniqueFd());
    while (outcome == Outcome::go_on)
        outcome = wait_and_handle();
    return outcome == Outcome::ended ? EXIT_SUCCESS : EXIT_FAILURE;
}

Result<> ControlLoop::wait(std::span<pollfd> fds) {
    const auto began = Deadline::Clock::now();
    LaneServer* const lanes = session_.lanes();
    auto limit = std::chrono::milliseconds(session_.milliseconds_to_connect());
    // Before the first lane only accept-timeout counts, because the initiator registers its memory.
    const bool listens = resumes_ && (!session_.has_pool() || (lanes && lanes->ready()));
    PeerTimeout& timeout = session_.has_pool() ? peer_timeout_ : pool_timeout_;
    if (listens)
        limit = std::min(limit, timeout.next_wait());
    if (session_.has_pool() && session_.is_read_only())
        limit = std::min(limit, give_way_interval);
    const int milliseconds = listens ? static_cast<int>(limit.count()) : -1;
    if (lanes)
        RPMEM_TRY(lanes->wait(fds, limit));
    else if (::poll(fds.data(), fds.size(), milliseconds) < 0 && errno != EINTR)
        return fail_errno(ErrorClass::bug, errno, "cannot wait for the client (poll)");
    if (fds[0].revents != 0 && session_.has_pool())
        peer_timeout_.restart();
    else if (listens)
        timeout.waited(limit, std::chrono::duration_cast<std::chrono::milliseconds>(
                                  Deadline::Clock::now() - began));
    return {};
}

Outcome ControlLoop::wait_and_handle() {
    std::array<pollfd, 5> fds = {{{channel_.input, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
    std::span<pollfd> used = std::span(fds).first(2);
    if (LaneServer* const lanes = session_.lanes()) {
        fds[2] = {lanes->failure_fd(), POLLIN, 0};
        fds[3] = {lanes->events_fd(), POLLIN, 0};
        fds[4] = {session_.change_fd(), POLLIN, 0}; // poll(2) ignores -1
        used = fds;
    }
    if (const auto waited = wait(used); !waited)
        return end_badly(waited.error().text);
    if (fds[1].revents != 0)
        return end_by_signal();
    // A user has only 128 inotify instances by default. Without one, check in each round.
    const bool parts_changed = session_.change_fd() < 0 || fds[4].revents != 0;
    // Handle the lanes first, so that a lane that ended before CLOSE is noticed before CLOSE.
    if (const Outcome outcome = handle_lanes(parts_changed); outcome != Outcome::go_on)
        return outcome;
    if (session_.must_give_way())
        return end_badly("the session ends: it only reads, and gives way to another one that opens "
                         "the pool for writing");
    if (pool_timeout_.is_over())
        return end_badly(
            fmt::format("the initiator has not requested a pool within {} ms: the session ends",
                        pool_timeout_.limit().count()));
    if (peer_timeout_.is_over())
        return end_badly(
            fmt::format("no message from the initiator for {} ms (peer-timeout): the session ends",
                        peer_timeout_.limit().count()));
    return fds[0].revents != 0 ? handle_input() : Outcome::go_on;
}

Outcome ControlLoop::end_by_signal() {
    const std::string text = "the session is ended by a signal, " + describe_signal(signals_.get());
    log_.notice("{}", text);
    send_error_text(text);
    end_lanes(text);
    return Outcome::ended_badly;
}

Outcome ControlLoop::handle_lanes(bool parts_changed) {
    LaneServer* const lanes = session_.lanes();
    if (!lanes)
        return Outcome::go_on;
    if (const auto handled = lanes->handle_events(); !handled)
        return end_badly(handled.error().text);
    if (parts_changed)
        session_.look_at_parts();
    if (const auto medium = session_.medium_failure())
        return end_for(*medium);
    if (const std::string failure = lanes->failure(); !failure.empty())
        return end_badly("the session ends: " + failure);
    if (!lanes->ready() && session_.milliseconds_to_connect() == 0)
        return connect_timed_out();
    return Outcome::go_on;
}

Outcome ControlLoop::connect_timed_out() {
    return end_badly(fmt::format(
        "only {} of {} lanes were connected within {} ms (accept-timeout); is port {} reachable "
        "from the initiator (firewall)?",
        session_.lanes()->connected(), session_.lanes()->lanes(), session_.accept_timeout().count(),
        session_.lanes()->port()));
}

Outcome ControlLoop::handle_input() {
    const Deadline deadline(message_time);
    request_.resize(wire::request_header_size);
    const auto got = read_fully(channel_.input, request_, deadline);
    if (!got)
        return end_badly("cannot read the header of a request: " + got.error().text);
    const wire::Bytes header = request_;
    if (*got != 0 && *got < header.size())
        return refuse_malformed(
            std::span(header).first(*got),
            fmt::format("{} of {} bytes of its header arrived", *got, header.size()));
    if (*got == 0) {
        const std::string text = "the channel was closed without CLOSE: the session ends";
        log_.notice("{}", text);
        end_lanes(text);
        return Outcome::ended_badly;
    }
    const auto decoded = wire::decode_request_header(header);
    if (!decoded)
        return refuse_malformed(header, decoded.error().text);
    request_.resize(decoded->size);
    const auto body = std::span(request_).subspan(header.size());
    const auto body_got = read_fully(channel_.input, body, deadline);
    if (!body_got)
        return refuse_malformed(header, "cannot read the rest of it: " + body_got.error().text);
    if (*body_got != body.size())
        return refuse_malformed(
            header, fmt::format("a request of {} bytes was announced, but only {} arrived",
                                decoded->size, header.size() + *body_got));
    const auto request = wire::decode_request(*decoded, body);
    if (!request)
        return refuse_malformed(header, request.error().text);
    session_.seen();
    return std::visit([this](const auto& message) { return handle(message); }, *request);
}

Outcome ControlLoop::refuse_malformed(std::span<const std::byte> header, const std::string& why) {
    const std::string text = "malformed request: " + why;
    if (const auto type = wire::request_type(header))
        return refuse(*type, target::refuse(wire::Status::bad_protocol, text).value(),
                      Outcome::ended_badly);
    return end_badly(text);
}

Outcome ControlLoop::handle(const wire::CreateRequest& request) {
    log_.info("CREATE {}: {} bytes, {} lanes", request.pool_set, request.pool_size, request.lanes);
    const auto in_band = session_.create(request);
    if (!in_band)
        return refuse(wire::MessageType::create, in_band.error(), Outcome::ended);
    return answer_with_pool(wire::MessageType::create,
                            wire::encode(wire::CreateResponse{wire::Status::success, *in_band}));
}

Outcome ControlLoop::handle(const wire::OpenRequest& request) {
    log_.info("OPEN {}: {} bytes, {} lanes", request.pool_set, request.pool_size, request.lanes);
    const auto in_band = session_.open(request);
    if (!in_band)
        return refuse(wire::MessageType::open, in_band.error(), Outcome::ended);
    return answer_with_pool(
        wire::MessageType::open,
        wire::encode(wire::OpenResponse{wire::Status::success, *in_band, session_.attributes()}));
}

Outcome ControlLoop::answer_with_pool(wire::MessageType request, const wire::Bytes& response) {
    if (const auto secured = session_.secure_lanes(request_, response); !secured)
        return refuse(request, target::refuse(wire::Status::fatal, secured.error().text).value(),
                      Outcome::ended_badly);
    if (const Outcome outcome = answer(response, Outcome::go_on, session_.report_on_pool());
        outcome != Outcome::go_on || !resumes_)
        return outcome;
    // The session is confined by now. A thread that started earlier would not be.
    auto heartbeat = Heartbeat::start(output_, wire::heartbeat_interval);
    if (!heartbeat)
        return end_badly(heartbeat.error().text);
    heartbeat_.emplace(std::move(*heartbeat));
    return Outcome::go_on;
}

Outcome ControlLoop::handle(const wire::SetAttributesRequest& request) {
    log_.info("SET_ATTR");
    const bool in_order = session_.has_pool();
    return answer_setting(request.type, session_.set_attributes(request.attributes), in_order,
                          wire::encode(wire::SetAttributesResponse{wire::Status::success}));
}

Outcome ControlLoop::handle(const wire::SetReplicaStateRequest& request) {
    log_.info("SET_REPLICA_STATE {}", static_cast<std::uint32_t>(request.replica_state));
    const bool in_order = compares_ && session_.has_pool();
    return answer_setting(request.type, session_.set_replica_state(request.replica_state), in_order,
                          wire::encode(wire::SetReplicaStateResponse{wire::Status::success}));
}

// A refusal ends the session only if the request was out of order or the medium has failed.
Outcome ControlLoop::answer_setting(wire::MessageType request, const Result<>& set, bool in_order,
                                    const wire::Bytes& response) {
    if (set)
        return answer(response, Outcome::go_on);
    const bool goes_on = in_order && !session_.medium_failure();
    return refuse(request, set.error(), goes_on ? Outcome::go_on : Outcome::ended_badly);
}

Outcome ControlLoop::handle(const wire::CloseRequest& request) {
    log_.info("CLOSE{}", request.remove ? ", remove" : "");
    if (const auto closed = session_.close(request.remove); !closed)
        return refuse(wire::MessageType::close, closed.error(), Outcome::ended);
    return answer(wire::encode(wire::CloseResponse{wire::Status::success}), Outcome::ended);
}

Outcome ControlLoop::handle(const wire::LoginRequest& request) {
    log_.info("LOGIN: generation {}", request.generation);
    if (const auto logged_in = session_.log_in(request); !logged_in)
        return refuse(wire::MessageType::login, logged_in.error(), Outcome::ended);
    return answer(wire::encode(wire::LoginResponse{wire::Status::success}), Outcome::go_on);
}

// The arrival of a HEARTBEAT is all that matters, and wait() has noted it.
Outcome ControlLoop::handle(const wire::HeartbeatRequest&) {
    return resumes_ ? Outcome::go_on
                    : end_badly("malformed request: HEARTBEAT was sent, which is only allowed if "
                                "both ends agreed on the capability to resume sessions");
}

Outcome ControlLoop::refuse(wire::MessageType request, const Error& error, Outcome next) {
    if (const auto medium = session_.medium_failure(); medium && knows_medium_failure_)
        return end_for(*medium);
    const wire::Status status = status_of(error);
    log_.error("refused ({}): {}", wire::describe(status), error.text);
    send_error_text(error.text);
    return answer(wire::encode_refusal(request, status), next);
}

Outcome ControlLoop::answer(const wire::Bytes& response, Outcome next, const wire::Bytes& before) {
    wire::Bytes message;
    for (const std::string& notice : session_.take_notices())
        if (resumes_)
            message = joined(message, wire::encode_notice(notice));
    message = joined(joined(message, before), response);
    if (const auto sent = output_.send(message, Deadline(message_time)); !sent) {
        log_.error("cannot send a response: {}", sent.error().text);
        return Outcome::ended_badly;
    }
    return next;
}

// The message may replace a response. A peer that does not know it still gets the text.
Outcome ControlLoop::end_for(const MediumFailure& failure) {
    log_.error("the session ends: {}", failure.text);
    if (knows_medium_failure_)
        static_cast<void>(
            answer(wire::encode(wire::MediumFailure{failure.part, failure.offset, failure.length,
                                                    failure.code, failure.text}),
                   Outcome::ended_badly));
    send_error_text(failure.text);
    end_lanes(failure.text);
    return Outcome::ended_badly;
}

// Sends the text first, because an initiator that loses a lane looks there for the reason.
Outcome ControlLoop::end_badly(const std::string& text) {
    log_.error("{}", text);
    send_error_text(text);
    end_lanes(text);
    return Outcome::ended_badly;
}

void ControlLoop::end_lanes(const std::string& text) {
    if (LaneServer* const lanes = session_.lanes())
        lanes->end(text);
}

void ControlLoop::send_error_text(const std::string& text) {
    // After a failure no more texts are sent, so that a peer that does not read them delays the
    // daemon only once. The log has them, too.
    if (!peer_reads_errors_)
        return;
    const std::string line = printable("rpmemd: " + text) + "\n";
    peer_reads_errors_ = write_fully(channel_.error, std::as_bytes(std::span(line)),
                                     Deadline(std::chrono::seconds(1)))
                             .has_value();
}

} // namespace

int serve_session(const Configuration& configuration, const Channel& channel,
                  HandshakeResult handshake, Log& log) {
    return ControlLoop(configuration, channel, std::move(handshake), log).run();
}

} // namespace rpmem::target
