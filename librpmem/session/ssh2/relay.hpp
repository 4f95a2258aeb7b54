// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between a channel of libssh2 and three local streams, like an ssh process with its
// standard streams. poll(2) on the local streams then also reports data that libssh2 has buffered,
// and the connection is served while nobody uses the session.
//
// Relay::set_state() changes the state of the remote command:
//   talking -> silent  its output has ended
//   talking -> ended   its output has ended, and its status has arrived
//   silent  -> ended   its status has arrived
//   any     -> closed  the relay has closed the connection
#pragma once

#include "common/base/child_process.hpp"
#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <string_view>

namespace rpmem::initiator::ssh2 {

// Used by one thread at a time.
class Relay {
public:
    // The far ends of the streams. All are sockets.
    struct Ends {
        UniqueFd input;
        UniqueFd output;
        UniqueFd error;
    };

    Relay(std::unique_ptr<Ssh2Session> session, LIBSSH2_CHANNEL* channel, Ends ends);

    // Runs until the command has ended, the connection is lost, or STOP is readable. After a loss
    // the status is 255, as that of ssh(1), and the error stream has the reason.
    ExitStatus run(int stop);
    // Closes the streams and the connection. The relay cannot be used afterwards.
    void close();
    // Closes the streams in a child made by fork(2), unless close() has begun. Sends nothing to the
    // server. Async-signal-safe.
    void release_in_child();

private:
    enum class State { talking, silent, ended, closed };

    // Bytes in transit. They are wiped after they were sent, because the secret of the session is
    // among them.
    struct Buffer {
        std::array<char, 16384> bytes;
        std::size_t first = 0;
        std::size_t end = 0;
        [[nodiscard]] bool empty() const { return first == end; }
        Buffer() = default;
        ~Buffer() { wipe(); }
        Buffer(const Buffer&) = delete;
        Buffer& operator=(const Buffer&) = delete;
        void wipe();
        void take(std::size_t count);
        void fill(std::size_t count) {
            first = 0;
            end = count;
        }
    };
    struct OutgoingStream {
        int stream;
        UniqueFd socket;
        Buffer buffer;
        bool put(); // returns whether the buffer is empty
    };

    // Each of these runs until it would block. Returns 0 or the status of libssh2.
    int send_input();
    int receive(OutgoingStream& flow);
    int await_end();
    int step(std::size_t number);
    bool has_received_more();
    int advance();
    void await_event(int stop);
    void set_state(State next);
    void send_error_text(std::string_view text);
    [[nodiscard]] ExitStatus status() const;

    std::unique_ptr<Ssh2Session> session_;
    LIBSSH2_CHANNEL* channel_; // owned by the session
    UniqueFd input_;
    Buffer input_buffer_;
    bool end_sent_ = false;
    OutgoingStream output_;
    OutgoingStream error_;
    std::size_t next_step_ = 0;
    unsigned long queued_ = 0;                  // bytes in libssh2 that no step has read
    std::atomic<State> state_ = State::talking; // other threads only read it
};

} // namespace rpmem::initiator::ssh2
