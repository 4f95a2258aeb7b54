// SPDX-License-Identifier: BSD-3-Clause
// An out-of-band session with rpmemd: one request, one response.
#pragma once

#include "common/transport/proof.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/unasked.hpp"
#include "librpmem/session/channel.hpp"
#include "librpmem/session/command_end.hpp"
#include "librpmem/session/target.hpp"
#include "librpmem/settings/settings.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

class Session {
public:
    // Logs in, starts COMMAND (with an offer to newer daemons) and waits until the daemon is ready:
    // for TIME, and for RPMEM_CONNECT_TIMEOUT at most.
    static Result<std::unique_ptr<Session>>
    start(const Target& target, const std::string& command, bool force_ipv4,
          const Settings& settings,
          std::chrono::milliseconds time = std::chrono::milliseconds::max());

    // Before create() or open(), if it was agreed on (wire::Agreement::resume).
    Result<> log_in(const wire::LoginRequest& request);
    // The key that later sessions of the same initiator show. Before take_proof().
    Result<transport::Secret> takeover_key() const { return transcript_->takeover_key(); }
    // The target's refusal is an Error with the errno of its status, and with its reason if it
    // gave one.
    Result<wire::CreateResponse> create(const wire::CreateRequest& request);
    Result<wire::OpenResponse> open(const wire::OpenRequest& request);
    Result<> set_attributes(const wire::SetAttributesRequest& request);
    // The daemon's answer is the result. Its end is awaited for a short time, and not required.
    Result<> close();
    // From now on requests are answered within TIME, and within RPMEM_OPERATION_TIMEOUT at most, or
    // the session is given up.
    void answers_within(std::chrono::milliseconds time) {
        const std::lock_guard lock(mutex_);
        request_limit_.time = std::min(time, request_limit_.max);
    }
    // Instead of close(), after create(): has the pool removed, as far as the daemon can be reached
    // in a short time, and ends the session.
    void undo_create() noexcept;

    // Nothing: the daemon speaks protocol 0.1. Without its secret.
    [[nodiscard]] const std::optional<wire::Hello>& hello() const { return hello_; }
    [[nodiscard]] const wire::Agreement& agreement() const { return agreement_; }
    // One of wire::all_conditions.
    [[nodiscard]] bool holds(std::uint64_t condition) const {
        return (agreement_.conditions & condition) != 0;
    }
    // Once, after create() or open(): what lanes prove themselves by. Only if it was agreed on
    // (wire::Agreement::lane_frames).
    Result<transport::ProofSession> take_proof();

    // Tells the daemon that this end lives, takes in what has come, and returns why the session is
    // lost: as loss(), or since the daemon is silent. Does nothing while another thread is at work
    // with the channel, which notices the same.
    std::optional<Error> beat();
    // Nothing has come for RPMEM_PEER_TIMEOUT.
    [[nodiscard]] bool is_silent() const;
    // The daemon's notices to the user, each once. None while another thread is at work with the
    // channel: a caller that serves all pools must not wait for one of them.
    [[nodiscard]] std::vector<std::string> take_notices();
    // Nothing comes or goes any more; the session is lost already.
    void cut();

    // The address of the login, if this process made the connection itself; else empty.
    [[nodiscard]] const std::string& peer() const { return channel_->peer(); }

    // Descriptors that become readable when the session ends or says something.
    [[nodiscard]] int output_fd() const { return channel_->output_fd(); }
    [[nodiscard]] int error_fd();
    // Takes in error text that has come, and looks whether the session is lost: why, as an error of
    // class link_lost (ECONNRESET) or medium_failed (EIO). Nothing: it is not lost (what had come
    // was a response to a request).
    std::optional<Error> loss();
    // The same, unless another thread is at work with the channel, which does both itself.
    std::optional<Error> loss_if_unused();
    // The session is lost because of WHAT: that, with the daemon's own words.
    Error ending(std::string_view what);

private:
    Session(std::unique_ptr<Channel> channel, RemoteCommand command, std::string host,
            const Settings& settings, std::chrono::milliseconds login_time)
        : channel_(std::move(channel)), command_(std::move(command)), host_(std::move(host)),
          takes_tls_(settings.tls != UseTls::off),
          requires_hello_(settings.require_hello || settings.tls == UseTls::require),
          login_limit_{login_time, settings.connect_timeout, "RPMEM_CONNECT_TIMEOUT"},
          request_limit_{settings.operation_timeout, settings.operation_timeout,
                         "RPMEM_OPERATION_TIMEOUT"},
          silence_(std::max<std::chrono::milliseconds>(settings.peer_timeout, wire::min_silence)) {
        heard();
    }

    using Clock = std::chrono::steady_clock;

    // How long something may take. A try to reconnect has less than its setting allows.
    struct Limit {
        std::chrono::milliseconds time;
        std::chrono::milliseconds max;
        const char* setting;
    };

    // A command that has ended, or is about to: how long its last words may take to arrive.
    static constexpr std::chrono::milliseconds last_words_time{2000};
    // The same in the thread that beats for all pools: while it waits, no other target hears of
    // this process.
    static constexpr std::chrono::milliseconds last_words_time_of_beat{200};

    std::optional<Error> beat_on_channel();
    std::optional<Error> look();
    std::optional<Error> look_at_messages();
    std::optional<Error> look_once();
    // The kind of a message that nobody has asked for, by its header; nothing: it is none.
    [[nodiscard]] std::optional<wire::MessageType> unasked(std::span<const std::byte> header) const;
    // The rest of it. Nothing: the session goes on.
    std::optional<Error> take_unasked(wire::MessageType type, wire::Bytes header);
    std::optional<Error> receive_notice(std::span<const std::byte> header);
    Error receive_medium_failure(wire::Bytes message);
    void heard() { heard_.store(Clock::now().time_since_epoch(), std::memory_order_relaxed); }
    [[nodiscard]] Error nonsense(const Error& error) const;
    template <typename T>
    [[nodiscard]] Result<T> understood(Result<T> decoded) const {
        return std::move(decoded).map_error([this](const Error& error) { return nonsense(error); });
    }
    Result<> await_ready(const Deadline& deadline);
    Result<> exchange_hellos(const Deadline& deadline);
    [[nodiscard]] Deadline next_word(const Deadline& deadline) const;
    [[nodiscard]] Error silent() const;
    struct Response {
        wire::ResponseHeader header;
        wire::Bytes bytes; // all of it
        [[nodiscard]] std::span<const std::byte> body() const {
            return std::span(bytes).subspan(wire::response_header_size);
        }
    };
    Result<Response> exchange(const wire::Bytes& request, wire::MessageType response);
    Result<Response> exchange_messages(const wire::Bytes& request, wire::MessageType response);
    [[nodiscard]] Error torn() const;
    template <typename Response, typename Request>
    Result<Response> ask_for_pool(const Request& request, const char* what);
    Failure refused(wire::Status status, const char* request);
    Failure noise(std::span<const std::byte> beginning);
    Failure ended_early(std::string_view when);
    Failure timed_out(std::string_view when, const Limit& limit, std::string_view hint = {});
    [[nodiscard]] std::string with_error_text(const std::string& text);

    std::mutex mutex_; // the channel: requests, and looks at whether it is lost
    std::unique_ptr<Channel> channel_;
    RemoteCommand command_;
    std::string host_;
    bool takes_tls_;
    bool requires_hello_;
    bool is_torn_ = false; // something was thrown in the middle of a message
    bool spoke_ = false;   // rpmemd has answered: the login and the command were right
    std::optional<wire::Hello> hello_;
    wire::Agreement agreement_;
    std::optional<transport::ControlTranscript> transcript_;
    std::uint64_t generation_ = 0;
    std::atomic<Clock::duration> heard_; // when something came last
    std::vector<std::string> notices_;
    Limit login_limit_;
    Limit request_limit_;
    std::chrono::milliseconds words_time_ = last_words_time;
    std::chrono::milliseconds silence_; // how long the daemon may say nothing,
    bool beats_ = false;                // once it has opened the pool
};

} // namespace rpmem::initiator
