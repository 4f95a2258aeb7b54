// Watches a session from a thread of its own, which sleeps until the channel ends, or a
// lane whose events it is given.
#pragma once

#include "base/io.hpp"
#include "fabric/queues.hpp"
#include "session/session.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rpmem {

class Monitor {
public:
    static Result<std::unique_ptr<Monitor>> make();
    ~Monitor(); // stops the thread
    Monitor(const Monitor&) = delete;
    Monitor& operator=(const Monitor&) = delete;

    // Both must live until stop().
    void start(Session& session, const fabric::EventQueue& events);
    void stop();

    [[nodiscard]] bool lost() const { return lost_.load(std::memory_order_acquire); }
    // Readable once the session is lost: wakes lanes that sleep.
    [[nodiscard]] int lost_fd() const { return lost_event_.fd(); }
    // Why. A lane may see the loss first: waits up to PATIENCE for the explanation.
    [[nodiscard]] std::string reason(std::chrono::milliseconds patience);
    // In a child made by fork(2), which has not got the thread. Async-signal-safe.
    void become_inherited() {
        inherited_.store(true, std::memory_order_relaxed);
        lost_.store(true, std::memory_order_release);
    }
    [[nodiscard]] bool inherited() const { return inherited_.load(std::memory_order_relaxed); }
    // For those who find out by themselves. The first reason stays.
    void declare_lost(std::string reason);

private:
    Monitor(Event lost_event, Event stop_event)
        : lost_event_(std::move(lost_event)), stop_event_(std::move(stop_event)) {}
    void watch(Session& session, const fabric::EventQueue& events);
    bool look_at_lanes(Session& session, const fabric::EventQueue& events);

    Event lost_event_;
    Event stop_event_;
    std::atomic<bool> lost_ = false;
    std::atomic<bool> inherited_ = false;
    std::mutex mutex_;
    std::condition_variable told_;
    std::string reason_;
    std::thread thread_;
};

} // namespace rpmem
