// SPDX-License-Identifier: BSD-3-Clause
// The out-of-band way to a command on the target, whatever carries it.
#pragma once

#include "common/base/child_process.hpp"
#include "common/base/deadline.hpp"
#include "common/base/fork_listener.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rpmem::initiator {

// What moves the bytes between a channel's streams and the remote command. Destroying it ends the
// command's input and output at once.
class ChannelBackend {
public:
    virtual ~ChannelBackend() = default;
    // Waits for the command to end. Nothing: the deadline passed.
    virtual std::optional<ExitStatus> wait(const Deadline& deadline) = 0;
};

// The channel's ends.
struct ChannelStreams {
    UniqueFd input; // a socket
    UniqueFd output;
    UniqueFd error;
};

// One thread at a time.
class Channel {
public:
    // It has no streams yet.
    Channel() = default;
    Channel(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend) : Channel() {
        connect(std::move(streams), std::move(backend));
    }
    // PEER: the address of the target's ssh server; empty: only whatever carries this knows it.
    void connect(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend,
                 std::string peer = {});

    [[nodiscard]] const std::string& peer() const { return peer_; }

    Result<> send(std::span<const std::byte> data, const Deadline& deadline);
    // Reads until BUFFER is full or the command's output ends; returns the bytes read.
    Result<std::size_t> receive(std::span<std::byte> buffer, const Deadline& deadline);

    // Waits for output, and returns what has come; empty: it has ended.
    Result<std::string> receive_some(const Deadline& deadline);

    // The output that has come, MOST bytes of it at most, without waiting.
    std::string output_there(std::size_t most);

    // Readable when output has come or has ended.
    [[nodiscard]] int output_fd() const { return streams_.output.get(); }
    // Readable when error text has come or has ended; -1: never (any more).
    [[nodiscard]] int error_fd() const { return streams_.error.get(); }
    // Takes in the error text that is there, without waiting.
    void collect_error_text();
    // What a message quotes of the error text so far, its lines joined by "; ": those of rpmemd
    // first, then the last of the others, each once.
    [[nodiscard]] std::string error_text() const;

    // The command's input ends.
    void end_input() { streams_.input.reset(); }

    // How the command ended, if it has by then; the channel stays as it is.
    std::optional<ExitStatus> status(const Deadline& deadline) {
        return backend_ ? backend_->wait(deadline) : std::nullopt;
    }
    // Ends the input, waits for the command to end, and returns how it did. ETIMEDOUT: it did not,
    // and is cut off when the channel is destroyed.
    Result<ExitStatus> finish(const Deadline& deadline);

    // Ends the command's input and output at once. Nothing comes any more.
    void cut();

private:
    Result<std::size_t> read_output(std::span<std::byte> buffer, const Deadline& deadline);

    ChannelStreams streams_;
    std::string error_text_;
    std::unique_ptr<ChannelBackend> backend_;
    std::string peer_;
    // A child made by fork(2) would keep the command's input open when the parent is gone. Also
    // while a thread logs in, when no pool knows the channel.
    ForkListener in_children_{[](void* owner) { static_cast<Channel*>(owner)->streams_ = {}; },
                              this};
};

} // namespace rpmem::initiator
