// SPDX-License-Identifier: BSD-3-Clause
// The daemon's output on the out-of-band channel, from any thread: one message at a time.
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

    // Sends all of MESSAGE. After a failure it sends nothing more, as that message has no end.
    Result<> send(std::span<const std::byte> message, const Deadline& deadline);
    // MESSAGE is short. False: it was left out, as somebody else is speaking, or the peer does not
    // listen at the moment. Does not wait.
    bool send_if_there_is_room(std::span<const std::byte> message);

private:
    int fd_;
    std::mutex mutex_;
    bool broken_ = false;
};

// A thread that tells the initiator every INTERVAL that this process lives, whatever it does
// meanwhile. It ends with this object.
class Heartbeat {
public:
    // OUTPUT outlives it.
    [[nodiscard]] static Result<Heartbeat> start(ControlOutput& output,
                                                 std::chrono::milliseconds interval);
    Heartbeat(Heartbeat&&) = default;
    ~Heartbeat();

private:
    Heartbeat(Event stop, std::thread thread)
        : stop_(std::move(stop)), thread_(std::move(thread)) {}

    Event stop_; // moves with its descriptor, which the thread knows
    std::thread thread_;
};

} // namespace rpmem::target
