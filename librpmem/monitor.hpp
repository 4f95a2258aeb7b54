// SPDX-License-Identifier: BSD-3-Clause
// Knows whether a session is lost, and why. Where lanes notice by themselves that they have ended,
// whoever uses the pool looks; otherwise a thread sleeps until the channel ends or a lane does.
//
// A session, at this end; Monitor::become() changes it:
//   connected -> lost       its channel or a lane has ended, or somebody declares it lost
//   connected -> inherited  this process is a child of the one that opened it
//   lost      -> inherited  likewise
#pragma once

#include "common/base/io.hpp"
#include "common/base/unique_fd.hpp"
#include "common/transport/fabric/domain.hpp"
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
    // SESSION must live until stop().
    static Result<std::unique_ptr<Monitor>> make(Session& session);
    ~Monitor(); // stops the thread
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // Starts a thread for the events of lanes. EVENTS must live until stop().
    void start(const fabric::EventQueue& events);
    void stop();

    // The state as far as it is known without a system call.
    [[nodiscard]] bool lost() const {
        return state_.load(std::memory_order_acquire) != State::connected;
    }
    // Looks.
    [[nodiscard]] bool find_lost();
    // The same when wake_fd() has become readable; leaves other threads a moment to take in why.
    [[nodiscard]] bool is_lost_after_wake();
    // Wakes lanes that sleep: readable once the session is lost, and when somebody must look, as
    // the target has said something and would wait for it to be read.
    [[nodiscard]] int wake_fd() const { return wake_.get(); }
    // Why; nothing if it is not lost, as far as is known. A lane may see the loss first: waits up
    // to TIMEOUT for the explanation.
    [[nodiscard]] std::optional<Error> reason(std::chrono::milliseconds timeout);
    // In a child made by fork(2), which has not got the thread. Async-signal-safe.
    void become_inherited() { become(State::inherited); }
    [[nodiscard]] bool inherited() const {
        return state_.load(std::memory_order_relaxed) == State::inherited;
    }
    // For those who find out by themselves. The first reason stays, with EIO if it is a failed
    // medium and with ECONNRESET if it is anything else.
    void declare_lost(Error reason);

private:
    enum class State { connected, lost, inherited };

    Monitor(Session& session, Event lost_event, Event stop_event, UniqueFd wake)
        : session_(session), lost_event_(std::move(lost_event)), stop_event_(std::move(stop_event)),
          wake_(std::move(wake)) {}
    void become(State next);
    void watch(const fabric::EventQueue& events);
    bool look_at_lanes(const fabric::EventQueue& events);
    void look(std::chrono::milliseconds timeout);

    Session& session_;
    Event lost_event_;
    Event stop_event_;
    UniqueFd wake_; // of epoll(7): the event, and what the channel brings
    std::atomic<State> state_ = State::connected;
    std::mutex mutex_;
    std::condition_variable told_;
    std::optional<Error> reason_;
    std::thread thread_;
};

} // namespace rpmem::initiator
