// SPDX-License-Identifier: BSD-3-Clause
// The output of the daemon on the control channel. Thread-safe: each message is sent as a whole.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/io.hpp"
#include "common/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>

namespace rpmem::target {

class ControlOutput {
public:
    explicit ControlOutput(int fd) : fd_(fd) {}

    // Sends all of MESSAGE. After a failure nothing more can be sent, because that message may be
    // incomplete.
    Result<> send(std::span<const std::byte> message, const Deadline& deadline);
    // Sends MESSAGE, which has at most PIPE_BUF bytes, unless that would block. Returns false if it
    // was not sent: another thread is sending, the peer is not reading, or the channel has failed.
    bool send_if_there_is_room(std::span<const std::byte> message);

private:
    int fd_;
    std::mutex mutex_;
    bool broken_ = false;
};

// A thread that sends heartbeats to the initiator, whatever the other threads do. The destructor
// ends it.
class Heartbeat {
public:
    // OUTPUT must outlive it.
    [[nodiscard]] static Result<Heartbeat> start(ControlOutput& output,
                                                 std::chrono::milliseconds interval);
    Heartbeat(Heartbeat&&) = default;
    ~Heartbeat();

private:
    Heartbeat(Event stop, std::thread thread)
        : stop_(std::move(stop)), thread_(std::move(thread)) {}

    Event stop_; // the thread uses its descriptor, which a move does not change
    std::thread thread_;
};

} // namespace rpmem::target
