// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between a channel of libssh2 and three local streams, as the ssh process does with
// its standard descriptors: what libssh2 keeps within itself cannot be hidden from poll(2), and
// the connection is looked after when nobody asks anything.
//
// The remote command, as far as the relay knows; Relay::become() changes it:
//   talking -> silent  it says nothing more
//   talking -> ended   that, and its status, have come together
//   silent  -> ended   its status has come
//   any     -> closed  the relay has let go of the connection
#pragma once

#include "common/base/child_process.hpp"
#include "librpmem/session/ssh2/ssh2_session.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <string_view>

namespace rpmem::initiator::ssh2 {

// One thread at a time.
class Relay {
public:
    // The far ends of the streams; all are sockets.
    struct Ends {
        UniqueFd input;
        UniqueFd output;
        UniqueFd error;
    };

    Relay(std::unique_ptr<Ssh2Session> session, LIBSSH2_CHANNEL* channel, Ends ends);

    // Until the command has ended, the connection is lost (told as error text, status 255 as that
    // of ssh(1)), or STOP becomes readable.
    ExitStatus run(int stop);
    // Closes its ends and cuts the connection. Nothing works afterwards.
    void close();
    // The same in a child made by fork(2), unless it has begun: without a word to the server.
    // Async-signal-safe.
    void release_in_child();

private:
    enum class State { talking, silent, ended, closed };

    // Bytes on their way. The secret of the session is among them: what has gone is wiped.
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
        bool put(); // true: the buffer is empty
    };

    // Each goes on until it would have to wait: 0, or the status of libssh2.
    int send_input();
    int receive(OutgoingStream& flow);
    int await_end();
    int step(std::size_t number);
    bool has_received_more();
    int advance();
    void await_event(int stop);
    void become(State next);
    void tell(std::string_view text);
    [[nodiscard]] ExitStatus status() const;

    std::unique_ptr<Ssh2Session> session_;
    LIBSSH2_CHANNEL* channel_; // the session's
    UniqueFd input_;
    Buffer input_buffer_;
    bool end_sent_ = false;
    OutgoingStream output_;
    OutgoingStream error_;
    std::size_t next_step_ = 0;
    unsigned long queued_ = 0;                  // bytes received that no step has taken
    std::atomic<State> state_ = State::talking; // the other threads only read it
};

} // namespace rpmem::initiator::ssh2
