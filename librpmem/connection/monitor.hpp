// SPDX-License-Identifier: BSD-3-Clause
// Detects the loss of a session, and keeps its reason. What a loss means for a call is decided in
// link_losses.cpp. Over tcp this needs no thread: a lane notices its own end, and the calls of the
// application check the session. Over libfabric a thread waits for the end of the channel or of a
// lane. Monitor::set_state() changes the state of the session:
//
//   connected -> lost       the channel or a lane has ended, or declare_lost() was called
//   connected -> inherited  this process is a child of the process that opened the pool
//   lost      -> inherited  the same
#pragma once

#include "common/base/io.hpp"
#include "common/base/unique_fd.hpp"
#include "common/transport/fabric/domain.hpp"
#include "common/transport/transport.hpp"
#include "librpmem/session/session.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace rpmem::initiator {

class Monitor {
public:
    // SESSION must outlive the monitor.
    static Result<std::unique_ptr<Monitor>> make(Session& session);
    ~Monitor(); // stops the thread
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // Starts the thread that waits for the end of the channel or of a lane. EVENTS has the events
    // of the lanes, and must exist until stop().
    void start(const fabric::EventQueue& events);
    void stop();

    // Whether the session is known to be lost or inherited. Makes no system call.
    [[nodiscard]] bool lost() const {
        return state_.load(std::memory_order_acquire) != State::connected;
    }
    // Like lost(), but reads what the target has sent first, unless another thread uses the
    // channel.
    [[nodiscard]] bool find_lost();
    // Returns what wakes sleeping lanes, valid while the monitor exists. Its descriptor is readable
    // if the session is lost, or if the target has sent something that must be read, because the
    // target may block until then.
    [[nodiscard]] transport::WaitInterrupt interrupt();
    // Returns the reason of the loss. A lane may fail before the reason arrives, so this waits for
    // it for at most TIMEOUT. Returns nothing if the session is not known to be lost by then.
    [[nodiscard]] std::optional<Error> reason(std::chrono::milliseconds timeout);
    // Call it in a child made by fork(2), where the thread does not exist. Async-signal-safe.
    void become_inherited() { set_state(State::inherited); }
    [[nodiscard]] bool inherited() const {
        return state_.load(std::memory_order_relaxed) == State::inherited;
    }
    // Records a loss that the caller has noticed. The first reason is kept. Its code becomes EIO
    // for a failed medium, and ECONNRESET otherwise.
    void declare_lost(Error reason);

private:
    enum class State { connected, lost, inherited };

    Monitor(Session& session, Event lost_event, Event stop_event, UniqueFd wake)
        : session_(session), lost_event_(std::move(lost_event)), stop_event_(std::move(stop_event)),
          wake_(std::move(wake)) {}
    void set_state(State next);
    void watch(const fabric::EventQueue& events);
    bool read_lane_event(const fabric::EventQueue& events);
    [[nodiscard]] bool is_lost_after_wake();
    void await_reason(std::chrono::milliseconds timeout);

    Session& session_;
    Event lost_event_;
    Event stop_event_;
    UniqueFd wake_; // epoll(7) of lost_event_ and of the streams of the channel
    std::atomic<State> state_ = State::connected;
    std::mutex mutex_;
    std::condition_variable reason_known_;
    std::optional<Error> reason_;
    std::thread thread_;
};

} // namespace rpmem::initiator
