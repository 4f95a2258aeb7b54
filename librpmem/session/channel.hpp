// SPDX-License-Identifier: BSD-3-Clause
// The out-of-band channel: the streams of a remote command, over ssh(1) or libssh2.
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

// Moves bytes between the streams of a channel and the remote command. The destructor ends the
// command's input and output at once.
class ChannelBackend {
public:
    virtual ~ChannelBackend() = default;
    // Returns how the command has ended, or nothing if DEADLINE passes first.
    virtual std::optional<ExitStatus> wait(const Deadline& deadline) = 0;
};

// This end of the streams of a command.
struct ChannelStreams {
    UniqueFd input; // a socket
    UniqueFd output;
    UniqueFd error;
};

// Used by one thread at a time.
class Channel {
public:
    // Creates a channel that has no streams until connect().
    Channel() = default;
    Channel(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend) : Channel() {
        connect(std::move(streams), std::move(backend));
    }
    // PEER is the address of the ssh server, or empty if only ssh(1) knows it.
    void connect(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend,
                 std::string peer = {});

    [[nodiscard]] const std::string& peer() const { return peer_; }

    Result<> send(std::span<const std::byte> data, const Deadline& deadline);
    // Reads until BUFFER is full or the command's output ends. Returns the number of bytes read.
    // Fails with ETIMEDOUT if DEADLINE passes.
    Result<std::size_t> receive(std::span<std::byte> buffer, const Deadline& deadline);

    // Waits for output and returns it. Returns an empty string if the output has ended.
    Result<std::string> receive_some(const Deadline& deadline);

    // Returns output that has arrived, at most MAX_SIZE bytes, without waiting.
    std::string output_there(std::size_t max_size);

    // Readable if output has arrived or has ended.
    [[nodiscard]] int output_fd() const { return streams_.output.get(); }
    // Readable if error text has arrived or has ended. -1 after its end was read.
    [[nodiscard]] int error_fd() const { return streams_.error.get(); }
    // Reads error text that has arrived, without waiting.
    void collect_error_text();
    // Returns the part of the error text that a message quotes, its lines joined by "; ": first the
    // lines of rpmemd, then the last ones of others. A repeated line appears once.
    [[nodiscard]] std::string error_text() const;

    void end_input() { streams_.input.reset(); }

    // Returns how the command has ended, or nothing if DEADLINE passes first. Does not change the
    // streams.
    std::optional<ExitStatus> status(const Deadline& deadline) {
        return backend_ ? backend_->wait(deadline) : std::nullopt;
    }
    // Ends the input, waits for the end of the command, and returns how it has ended. Fails with
    // ETIMEDOUT if DEADLINE passes first. Then the destructor cuts the command off.
    Result<ExitStatus> finish(const Deadline& deadline);

    // Ends the command's input and output at once. Nothing can be received afterwards.
    void cut();

private:
    Result<std::size_t> read_output(std::span<std::byte> buffer, const Deadline& deadline);

    ChannelStreams streams_;
    std::string error_text_;
    std::unique_ptr<ChannelBackend> backend_;
    std::string peer_;
    // A child made by fork(2) must not keep the command's input open after the parent has ended.
    // The channel has its own listener, because during a login no pool has the channel yet.
    ForkListener in_children_{[](void* owner) { static_cast<Channel*>(owner)->streams_ = {}; },
                              this};
};

} // namespace rpmem::initiator
