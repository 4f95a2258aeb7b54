// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tcp/connect.hpp"

#include "common/base/deadline.hpp"
#include "common/base/host_address.hpp"
#include "common/base/io.hpp"
#include "common/base/unique_fd.hpp"
#include "common/transport/lane_auth_ends.hpp"
#include "common/transport/retry.hpp"
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/stream.hpp"
#include "common/transport/tls/tls_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace rpmem::transport {
namespace {

constexpr const char* nothing_answers = "nothing answers there: is the port reachable (firewall)?";
constexpr const char* nobody_answers =
    "it is connected, but the target sends nothing: another program may have the port";

bool sees_loss(const ConnectOptions& options) {
    return options.limits.interrupt.is_lost && options.limits.interrupt.is_lost();
}

// Whether a failed attempt should be retried.
enum class Outlook {
    none,
    may_pass,       // the target may accept the lane a moment later
    lane_is_in_use, // possibly by an earlier attempt whose end the target has not noticed
};

// One attempt to connect one lane.
class Attempt {
public:
    Attempt(const ProofSession& session, const ConnectOptions& options, const Deadline& deadline)
        : session_(session), options_(options), deadline_(deadline),
          name_(fmt::format("lane {} to {} port {}", options.identity.lane, options.address.host,
                            options.address.port)) {}

    Result<OpenedLane> run(Random& random);
    [[nodiscard]] Outlook outlook() const { return outlook_; }
    // Returns whether the target may have accepted this connection as the lane.
    [[nodiscard]] bool was_proven() const { return was_proven_; }

private:
    Result<> open();
    Result<> prove(Random& random);
    Result<ProofStep> secure(InitiatorProof& proof, TlsStream& tls);
    Failure refused(const Refused& why);
    Result<wire::LaneCredits> take_welcome();
    Result<> wait(short events, const char* stage);
    Result<> send(ByteView bytes);
    Result<std::size_t> receive(std::span<std::byte> place, const char* stage);
    Failure failed(int code, const std::string& what) const;

    const ProofSession& session_;
    const ConnectOptions& options_;
    const Deadline& deadline_;
    std::string name_;
    std::unique_ptr<Stream> stream_;
    std::array<std::byte, 256> buffer_; // received bytes that were not consumed yet
    std::size_t buffered_ = 0;
    Outlook outlook_ = Outlook::none;
    bool was_proven_ = false;
};

Failure Attempt::failed(int code, const std::string& what) const {
    return fail(ErrorClass::link_lost, code, "{}: {}", name_, what);
}

Result<> Attempt::wait(short events, const char* stage) {
    while (true) {
        std::array<pollfd, 2> fds{
            {{stream_->fd(), events, 0}, {options_.limits.interrupt.fd, POLLIN, 0}}};
        const int found = ::poll(fds.data(), fds.size(), deadline_.poll_timeout());
        if (found > 0 && fds[0].revents != 0 && !deadline_.passed())
            return {};
        if (found > 0 && sees_loss(options_))
            return failed(ECONNRESET, "the session ended");
        if (deadline_.passed())
            return failed(ETIMEDOUT, fmt::format("{} (waited {} ms; {})", stage,
                                                 options_.limits.time.count(), connect_setting));
    }
}

Result<> Attempt::open() {
    const auto found = look_up_number(options_.address.host, std::to_string(options_.address.port),
                                      AI_NUMERICSERV);
    if (!found)
        return failed(EINVAL, found.error().text);
    const AddressList& address = *found;
    UniqueFd made(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made)
        return fail(ErrorClass::resource_limit, errno, "{}: cannot make a socket: {}{}", name_,
                    strerror(errno), limit_behind(errno, "each lane in use takes one"));
    const int socket = made.get();
    stream_ = std::make_unique<SocketStream>(std::move(made));
    prepare_lane_socket(socket, options_.peer_timeout);
    if (::connect(socket, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS)
        return failed(errno, strerror(errno));
    RPMEM_TRY(wait(POLLOUT, nothing_answers));
    int code = 0;
    socklen_t size = sizeof(code);
    static_cast<void>(::getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size));
    if (code == ECONNREFUSED)
        return failed(code, "nothing listens there, or a firewall rejects the port");
    // The kernel gives up after TCP_USER_TIMEOUT, which may be shorter than the wait.
    if (code == ETIMEDOUT)
        return failed(code, fmt::format("{} (waited {} ms, RPMEM_PEER_TIMEOUT)", nothing_answers,
                                        options_.peer_timeout.count()));
    if (code == EHOSTUNREACH || code == ENETUNREACH)
        return failed(code, fmt::format("{}: is there a route to the target, and does a firewall "
                                        "reject the port?",
                                        strerror(code)));
    if (code != 0)
        return failed(code, strerror(code));
    return {};
}

// Sends a message of the handshake, which fits into the send buffer of a new socket.
Result<> Attempt::send(ByteView bytes) {
    const iovec whole{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const ssize_t sent = bytes.empty() ? 0 : stream_->send({&whole, 1}, false);
    if (sent == static_cast<ssize_t>(bytes.size()))
        return {};
    outlook_ = Outlook::may_pass;
    return failed(sent < 0 ? static_cast<int>(-sent) : EAGAIN, "the target ended the connection");
}

Result<std::size_t> Attempt::receive(std::span<std::byte> place, const char* stage) {
    while (true) {
        const iovec whole{place.data(), place.size()};
        const ssize_t got = stream_->receive({&whole, 1});
        if (got > 0)
            return static_cast<std::size_t>(got);
        if (got == -EAGAIN || got == -EINTR) {
            RPMEM_TRY(wait(POLLIN, stage));
            continue;
        }
        outlook_ = Outlook::may_pass;
        return failed(got < 0 ? static_cast<int>(-got) : ECONNRESET,
                      "the target ended the connection before the lane was open");
    }
}

Failure Attempt::refused(const Refused& why) {
    outlook_ = may_pass(why.why)                     ? Outlook::may_pass
               : why.why == RefusalCode::lane_in_use ? Outlook::lane_is_in_use
                                                     : Outlook::none;
    return failed(errno_of(why.why), describe(why));
}

// Runs the TLS handshake, which follows the first message. Instead of TLS bytes, the target may
// send a refusal of the first message.
Result<ProofStep> Attempt::secure(InitiatorProof& proof, TlsStream& tls) {
    static_cast<void>(tls.start()); // advance() reports a failure
    for (bool is_refusal = true; is_refusal;) {
        RPMEM_TRY(wait(POLLIN, nobody_answers));
        const ssize_t got = ::recv(tls.fd(), buffer_.data(), buffer_.size(), 0);
        if (got <= 0) {
            outlook_ = Outlook::may_pass;
            return failed(got < 0 ? errno : ECONNRESET,
                          "the target ended the connection before TLS");
        }
        const ByteView came = ByteView(buffer_).first(static_cast<std::size_t>(got));
        const ProofStep step = proof.advance(came);
        if (proof.state() == ProofState::refused)
            return refused(proof.refused());
        is_refusal = step.taken == came.size();
        if (!tls.give(came.subspan(step.taken)))
            return failed(EPROTO, tls.error().text);
    }
    for (TlsStep handshake = tls.advance(); handshake != TlsStep::done; handshake = tls.advance()) {
        if (handshake == TlsStep::failed)
            return failed(tls.error().code, tls.error().text);
        RPMEM_TRY(wait(handshake == TlsStep::wants_write ? POLLOUT : POLLIN,
                       "the target does not continue the TLS handshake"));
    }
    return proof.secured(tls.exporter());
}

Result<> Attempt::prove(Random& random) {
    InitiatorProof proof(session_, options_.identity, options_.tls != nullptr);
    ProofStep step = proof.start(random);
    RPMEM_TRY(send(step.send));
    if (options_.tls && proof.state() == ProofState::securing) {
        RPMEM_ASSIGN(auto tls, TlsStream::make(*options_.tls, std::move(stream_), name_));
        TlsStream& stream = *tls;
        stream_ = std::move(tls);
        RPMEM_ASSIGN(step, secure(proof, stream));
    } else {
        step.send = {};
    }
    while (true) {
        RPMEM_TRY(send(step.send));
        if (proof.state() == ProofState::refused)
            return refused(proof.refused());
        if (proof.state() == ProofState::proven)
            return {};
        if (buffered_ == 0) {
            RPMEM_ASSIGN(buffered_, receive(buffer_, nobody_answers));
        }
        step = proof.advance(ByteView(buffer_).first(buffered_));
        was_proven_ = was_proven_ || proof.state() == ProofState::welcome;
        buffered_ -= step.taken;
        std::memmove(buffer_.data(), buffer_.data() + step.taken, buffered_);
    }
}

Result<wire::LaneCredits> Attempt::take_welcome() {
    while (buffered_ < wire::welcome_size) {
        RPMEM_ASSIGN(const auto got,
                     receive(std::span(buffer_).subspan(buffered_, wire::welcome_size - buffered_),
                             "the target does not open the lane"));
        buffered_ += got;
    }
    return in_context(name_, wire::decode_welcome(ByteView(buffer_).first(buffered_)));
}

Result<OpenedLane> Attempt::run(Random& random) {
    RPMEM_TRY(open());
    RPMEM_TRY(prove(random));
    RPMEM_ASSIGN(const auto credits, take_welcome());
    return OpenedLane{std::make_unique<FrameConnection>(std::move(stream_), name_), credits};
}

} // namespace

Result<OpenedLane> connect_lane(const ProofSession& session, const ConnectOptions& options,
                                Random& random) {
    const Deadline deadline(options.limits.time);
    bool was_proven = false;
    for (unsigned tries = 1;; ++tries) {
        Attempt attempt(session, options, deadline);
        auto lane = attempt.run(random);
        const Outlook outlook = attempt.outlook();
        if (lane || outlook == Outlook::none || (outlook == Outlook::lane_is_in_use && !was_proven))
            return lane;
        was_proven = was_proven || attempt.was_proven();
        std::uint32_t bits = 0;
        RPMEM_TRY(random.fill(std::as_writable_bytes(std::span(&bits, 1))));
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(retry_pause(tries, bits));
        if (deadline.poll_timeout() <= pause.count())
            return lane;
        pollfd wake{options.limits.interrupt.fd, POLLIN, 0};
        if (::poll(&wake, 1, static_cast<int>(pause.count())) > 0 && sees_loss(options))
            return lane;
    }
}

} // namespace rpmem::transport
