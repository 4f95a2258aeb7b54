// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/relay.hpp"

#include "librpmem/session/command_end.hpp"

#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::size_t step_count = 4;

// Whether the command accepts no more input. It may still send output.
bool means_no_input(ssize_t status) {
    return status == LIBSSH2_ERROR_CHANNEL_CLOSED || status == LIBSSH2_ERROR_CHANNEL_EOF_SENT;
}

// Returns the number of a signal from its name in an exit-signal message, such as "KILL", see RFC
// 4254, section 6.10. Returns 0 if the name is unknown.
int signal_of(std::string_view name) {
    for (int number = 1; number < NSIG; ++number)
        if (const char* known = ::sigabbrev_np(number); known && name == known)
            return number;
    return 0;
}

} // namespace

Relay::Relay(std::unique_ptr<Ssh2Session> session, LIBSSH2_CHANNEL* channel, Ends ends)
    : session_(std::move(session)), channel_(channel),
      input_(std::move(ends.input)), output_{0, std::move(ends.output), {}},
      error_{SSH_EXTENDED_DATA_STDERR, std::move(ends.error), {}} {}

void Relay::Buffer::wipe() {
    ::OPENSSL_cleanse(bytes.data(), bytes.size());
    first = end = 0;
}

void Relay::Buffer::take(std::size_t count) {
    ::OPENSSL_cleanse(bytes.data() + first, count);
    first += count;
}

bool Relay::OutgoingStream::put() {
    while (!buffer.empty() && socket) {
        const ssize_t sent = ::send(socket.get(), buffer.bytes.data() + buffer.first,
                                    buffer.end - buffer.first, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            buffer.take(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            return false;
        else if (errno != EINTR)
            socket.reset();
    }
    if (!socket) // nobody reads it
        buffer.wipe();
    return true;
}

int Relay::send_input() {
    while (input_ || !input_buffer_.empty()) {
        if (input_buffer_.empty()) {
            const ssize_t got = ::recv(input_.get(), input_buffer_.bytes.data(),
                                       input_buffer_.bytes.size(), MSG_DONTWAIT);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0 && errno == EAGAIN)
                return 0;
            if (got <= 0)
                input_.reset();
            else
                input_buffer_.fill(static_cast<std::size_t>(got));
            continue;
        }
        const ssize_t sent = ::libssh2_channel_write_ex(
            channel_, 0, input_buffer_.bytes.data() + input_buffer_.first,
            input_buffer_.end - input_buffer_.first);
        if (means_no_input(sent)) {
            input_.reset();
            input_buffer_.wipe();
            end_sent_ = true;
            return 0;
        }
        if (sent < 0)
            return static_cast<int>(sent);
        input_buffer_.take(static_cast<std::size_t>(sent));
    }
    if (end_sent_)
        return 0;
    const int status = ::libssh2_channel_send_eof(channel_);
    end_sent_ = status == 0 || means_no_input(status);
    return end_sent_ ? 0 : status;
}

int Relay::receive(OutgoingStream& flow) {
    while (flow.put()) {
        const ssize_t got = ::libssh2_channel_read_ex(
            channel_, flow.stream, flow.buffer.bytes.data(), flow.buffer.bytes.size());
        if (got <= 0)
            return static_cast<int>(got);
        flow.buffer.fill(static_cast<std::size_t>(got));
    }
    return 0;
}

int Relay::await_end() {
    if (::libssh2_channel_eof(channel_) != 1 || !output_.buffer.empty() || !error_.buffer.empty())
        return 0;
    output_.socket.reset();
    const int status = ::libssh2_channel_wait_closed(channel_);
    if (status == 0)
        set_state(State::ended);
    return status;
}

int Relay::step(std::size_t number) {
    switch (number) {
    case 0:
        return send_input();
    case 1:
        return receive(output_);
    case 2:
        return receive(error_);
    default:
        return await_end();
    }
}

// Whether a step has something to do that poll(2) does not report. Any call of libssh2 may read all
// data from the socket, so a later step may have received data for an earlier one.
bool Relay::has_received_more() {
    unsigned long queued = 0;
    static_cast<void>(::libssh2_channel_window_read_ex(channel_, &queued, nullptr));
    // An unchanged number of bytes belongs to a stream that no step reads.
    const bool is_other = std::exchange(queued_, queued) != queued;
    if (queued > 0 && is_other && output_.buffer.empty() && error_.buffer.empty())
        return true;
    // In State::silent, advance() ends with await_end(), which receives the status.
    if (state_ != State::talking || ::libssh2_channel_eof(channel_) != 1)
        return false;
    set_state(State::silent);
    return true;
}

// Returns 0, or the status of libssh2 if the connection is lost.
int Relay::advance() {
    for (std::size_t count = 0; count < step_count && state_ != State::ended; ++count) {
        const int status = step(next_step_);
        if (status < 0 && status != LIBSSH2_ERROR_EAGAIN)
            return status;
        if (status < 0 && session_->blocked_outward())
            return 0; // the same step must be repeated first
        next_step_ = (next_step_ + 1) % step_count;
    }
    if (state_ != State::silent)
        return 0;
    const int status = await_end();
    return status == LIBSSH2_ERROR_EAGAIN ? 0 : status;
}

// Waits until a step may have something to do.
void Relay::await_event(int stop) {
    const int timeout = has_received_more() ? 0 : -1;
    // If neither stream accepts more, data stay in the socket, and TCP slows the server down.
    const bool reading = output_.buffer.empty() || error_.buffer.empty();
    const bool writing = session_->blocked_outward();
    const auto events = static_cast<short>((reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
    std::array<pollfd, 5> fds = {
        pollfd{stop, POLLIN, 0},
        pollfd{events != 0 ? session_->socket() : -1, events, 0},
        pollfd{input_buffer_.empty() ? input_.get() : -1, POLLIN, 0},
        pollfd{output_.buffer.empty() ? -1 : output_.socket.get(), POLLOUT, 0},
        pollfd{error_.buffer.empty() ? -1 : error_.socket.get(), POLLOUT, 0},
    };
    ::poll(fds.data(), fds.size(), timeout);
}

void Relay::send_error_text(std::string_view text) {
    if (error_.put() && error_.socket)
        static_cast<void>(
            ::send(error_.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

ExitStatus Relay::status() const {
    char* name = nullptr;
    std::size_t size = 0;
    ::libssh2_channel_get_exit_signal(channel_, &name, &size, nullptr, nullptr, nullptr, nullptr);
    if (name) {
        const int signal = signal_of({name, size});
        ::libssh2_free(session_->get(), name);
        return {ssh_failed, signal, true};
    }
    return {::libssh2_channel_get_exit_status(channel_), 0, true};
}

ExitStatus Relay::run(int stop) {
    ExitStatus result{ssh_failed, 0, true};
    while (true) {
        if (const int lost = advance(); lost != 0) {
            send_error_text("the ssh connection broke: " + session_->last_error());
            break;
        }
        if (state_ == State::ended) {
            result = status();
            break;
        }
        await_event(stop);
        pollfd stopped = {stop, POLLIN, 0};
        if (::poll(&stopped, 1, 0) > 0)
            break;
    }
    return result;
}

// The state only moves forward in the order of the enum.
void Relay::set_state(State next) { state_ = std::max(state_.load(), next); }

void Relay::close() {
    set_state(State::closed);
    session_.reset();
    input_.reset();
    output_.socket.reset();
    error_.socket.reset();
    for (Buffer* const buffer : {&input_buffer_, &output_.buffer, &error_.buffer})
        buffer->wipe();
}

void Relay::release_in_child() {
    if (state_ == State::closed)
        return;
    input_.reset();
    output_.socket.reset();
    error_.socket.reset();
}

} // namespace rpmem::initiator::ssh2
