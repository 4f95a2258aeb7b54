// SPDX-License-Identifier: BSD-3-Clause
// An out-of-band session with rpmemd. Each request has one response, except for heartbeats. The
// daemon may also send unsolicited messages.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/unsolicited.hpp"
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
    // Logs in, starts COMMAND with the offer of a hello, and waits until the daemon is ready. Waits
    // for TIME or RPMEM_CONNECT_TIMEOUT, whichever is shorter.
    static Result<std::unique_ptr<Session>>
    start(const Target& target, const std::string& command, bool force_ipv4,
          const Settings& settings,
          std::chrono::milliseconds time = std::chrono::milliseconds::max());

    // Call it before create() or open(), and only if wire::Agreement::resume was agreed on.
    Result<> log_in(const wire::LoginRequest& request);
    // Returns the key by which later generations take over the pool. The session must be of
    // generation 0. Call it before take_proof(), and only if wire::Agreement::lane_frames was
    // agreed on.
    Result<transport::Secret> takeover_key() const { return transcript_->takeover_key(); }
    // If the target refuses a request, the error has the errno of the status, and the reason if the
    // target has sent one.
    Result<wire::CreateResponse> create(const wire::CreateRequest& request);
    Result<wire::OpenResponse> open(const wire::OpenRequest& request);
    Result<> set_attributes(const wire::SetAttributesRequest& request);
    // Succeeds if the daemon has closed the pool. Then waits briefly for the daemon to end, but
    // does not require that.
    Result<> close();
    // Limits later requests to TIME or RPMEM_OPERATION_TIMEOUT, whichever is shorter. After a
    // request that takes longer the session cannot be used.
    void answers_within(std::chrono::milliseconds time) {
        const std::lock_guard lock(mutex_);
        request_limit_.time = std::min(time, request_limit_.max);
    }
    // Call it instead of close() to undo create(). Asks the daemon to remove the pool, and ends the
    // session. Gives up after a short time.
    void undo_create() noexcept;

    // Returns nothing if the daemon speaks protocol 0.1. The secret was wiped.
    [[nodiscard]] const std::optional<wire::Hello>& hello() const { return hello_; }
    [[nodiscard]] const wire::Agreement& agreement() const { return agreement_; }
    // CONDITION is one of wire::all_conditions.
    [[nodiscard]] bool holds(std::uint64_t condition) const {
        return (agreement_.conditions & condition) != 0;
    }
    // Returns what the lanes need for their handshake. Call it once, after create() or open(), and
    // only if wire::Agreement::lane_frames was agreed on.
    Result<transport::ProofSession> take_proof();

    // Sends a heartbeat, and reads what has arrived. Returns the reason if the session is lost:
    // like poll_for_loss(), or because the daemon is silent. Does nothing while another thread uses
    // the channel, because that thread notices a loss itself.
    std::optional<Error> beat();
    // Whether no message has arrived for RPMEM_PEER_TIMEOUT, or for wire::min_silence if that is
    // longer.
    [[nodiscard]] bool is_silent() const;
    // Returns the notices of the daemon since the last call. Returns none while another thread uses
    // the channel, because the heartbeat thread serves all pools and must not wait for one of them.
    [[nodiscard]] std::vector<std::string> take_notices();
    // Returns the claim of the pool's last writer, after open(). Returns nothing if the daemon has
    // not sent it.
    [[nodiscard]] std::optional<wire::PoolClaim> pool_claim() {
        const std::lock_guard lock(mutex_);
        return pool_claim_;
    }
    // Returns the record of the pool, after create() or open(). Returns nothing if the session only
    // reads, or the daemon has not sent it.
    [[nodiscard]] std::optional<wire::PoolState> pool_state() {
        const std::lock_guard lock(mutex_);
        return pool_state_;
    }
    // Sets the state of the replica in the record of the pool, durably. Before in_sync, everything
    // that was sent on the lanes must be acknowledged. Fails with ENOTSUP, and sends nothing,
    // unless wire::Agreement::compare was agreed on.
    Result<> set_replica_state(wire::ReplicaState state);
    // Closes the channel of a session that is lost already.
    void cut();

    // Returns the address of the login, or an empty string if only ssh(1) knows it.
    [[nodiscard]] const std::string& peer() const { return channel_->peer(); }

    // Descriptors that are readable if the session has ended or the target has sent something.
    [[nodiscard]] int output_fd() const { return channel_->output_fd(); }
    [[nodiscard]] int error_fd();
    // Reads error text and unsolicited messages that have arrived. Returns the reason if the
    // session is lost: an error of class link_lost, medium_failed or target_refused. While another
    // thread uses the channel, waits for it or returns nothing, because that thread notices a loss
    // itself.
    enum class WhileInUse { wait, skip };
    std::optional<Error> poll_for_loss(WhileInUse while_in_use);
    // Returns the error of a session that is lost because of WHAT, with the error text of the
    // target.
    Error ending(std::string_view what);

private:
    // A limit on time. An attempt to reconnect may get less than the setting allows.
    struct Limit {
        std::chrono::milliseconds time;
        std::chrono::milliseconds max;
        const char* setting;
        [[nodiscard]] std::string text() const; // says what sets the limit
    };

    Session(std::unique_ptr<Channel> channel, RemoteCommand command, std::string host,
            const Settings& settings, const Limit& login_limit)
        : channel_(std::move(channel)), command_(std::move(command)), host_(std::move(host)),
          takes_tls_(settings.tls != UseTls::off),
          requires_hello_(settings.require_hello || settings.tls == UseTls::require),
          login_limit_(login_limit), request_limit_{settings.operation_timeout,
                                                    settings.operation_timeout,
                                                    "RPMEM_OPERATION_TIMEOUT"},
          peer_timeout_(
              std::max<std::chrono::milliseconds>(settings.peer_timeout, wire::min_silence)) {
        note_activity();
    }

    using Clock = std::chrono::steady_clock;

    // Maximum wait for the last output of a command that has ended or is about to end.
    static constexpr std::chrono::milliseconds error_text_time{2000};
    // The same in the heartbeat thread. It serves all pools, and while it waits, the other targets
    // get no heartbeat.
    static constexpr std::chrono::milliseconds error_text_time_of_beat{200};

    std::optional<Error> beat_on_channel();
    std::optional<Error> read_all();
    std::optional<Error> read_messages();
    std::optional<Error> read_message();
    // Receives the rest of an unsolicited message. Returns the reason if the session is lost.
    std::optional<Error> receive_unsolicited(wire::MessageType type,
                                             std::span<const std::byte> header);
    void keep_notice(std::span<const std::byte> text);
    [[nodiscard]] Error medium_failure(std::span<const std::byte> body) const;
    void note_activity() {
        last_activity_.store(Clock::now().time_since_epoch(), std::memory_order_relaxed);
    }
    [[nodiscard]] Error malformed(const Error& error) const;
    [[nodiscard]] Error incomplete(const Error& error) const;
    template <typename T>
    [[nodiscard]] Result<T> understood(Result<T> decoded) const {
        return std::move(decoded).map_error(
            [this](const Error& error) { return malformed(error); });
    }
    Result<> await_ready(const Deadline& deadline);
    Result<> exchange_hellos(const Deadline& deadline);
    [[nodiscard]] Deadline next_word(const Deadline& deadline) const;
    [[nodiscard]] Error timeout_error() const;
    struct Response {
        wire::ResponseHeader header;
        wire::Bytes bytes; // the whole message
        [[nodiscard]] std::span<const std::byte> body() const {
            return std::span(bytes).subspan(wire::response_header_size);
        }
    };
    Result<Response> exchange(const wire::Bytes& request, wire::MessageType response);
    Result<Response> exchange_messages(const wire::Bytes& request, wire::MessageType response);
    [[nodiscard]] Error poisoned() const;
    template <typename Response, typename Request>
    Result<Response> ask_for_pool(const Request& request, const char* what);
    // Sends a request after whose refusal the session continues. WHAT completes "refused ".
    Result<> ask(const wire::Bytes& request, wire::MessageType answer, const char* what);
    Failure refused(wire::Status status, const char* request);
    Failure unexpected_output(std::span<const std::byte> beginning);
    Failure ended_early(std::string_view when);
    Failure timed_out(std::string_view when, const Limit& limit, std::string_view hint = {});
    Failure not_received(const Error& error, std::string_view when, const Limit& limit,
                         std::string_view hint = {});
    [[nodiscard]] std::string with_error_text(const std::string& text);

    std::mutex mutex_; // guards the channel
    std::unique_ptr<Channel> channel_;
    RemoteCommand command_;
    std::string host_;
    bool takes_tls_;
    bool requires_hello_;
    bool is_poisoned_ = false; // an exception has interrupted the exchange of a message
    bool spoke_ = false;       // rpmemd has answered, so the login and the command are right
    std::optional<wire::Hello> hello_;
    wire::Agreement agreement_;
    std::optional<transport::ControlTranscript> transcript_;
    std::uint64_t generation_ = 0;
    std::atomic<Clock::duration> last_activity_; // time of the last message
    std::vector<std::string> notices_;
    std::optional<wire::PoolClaim> pool_claim_;
    std::optional<wire::PoolState> pool_state_;
    Limit login_limit_;
    Limit request_limit_;
    std::chrono::milliseconds error_text_time_ = error_text_time;
    std::chrono::milliseconds peer_timeout_; // maximum time without a message while beats_ is true
    bool beats_ = false;                     // the daemon sends heartbeats
};

} // namespace rpmem::initiator
