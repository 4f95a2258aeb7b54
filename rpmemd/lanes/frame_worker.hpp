// SPDX-License-Identifier: BSD-3-Clause
// Serves lanes that carry frames, in a thread of its own: receive, check, make durable,
// acknowledge. The container that keeps a lane is its state:
//   arrived -> served   take_arrived(): its group looks after it; it is gone if that cannot
//   served  -> leaving  end_lane(), take_leave(): it has said its last words
//   served  -> gone     the same, if nobody listens
//   leaving -> gone     look_after_leaving(): the words have gone, the peer has, or it is late
#pragma once

#include "common/base/io.hpp"
#include "rpmemd/lanes/served_lane.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace rpmem::target {

class FrameWorker {
public:
    // Called from the worker's thread when a lane has ended. PROBLEM: why the session must end,
    // too; empty: it goes on. Of lane 0 also when the thread can serve none any more.
    using Ended = std::function<void(unsigned lane, const std::string& how, std::string problem)>;

    static Result<std::unique_ptr<FrameWorker>> make(std::unique_ptr<transport::Group> group,
                                                     Ended ended);
    ~FrameWorker();
    FrameWorker(const FrameWorker&) = delete;
    FrameWorker& operator=(const FrameWorker&) = delete;

    // From any thread. The first lane starts the worker's thread.
    Result<> take(std::unique_ptr<ServedLane> lane);
    // From any thread: ends the lanes, whose initiators are told WHY. Does not wait.
    void end(std::string why);
    // From any thread: something has happened to a connection that its group cannot see.
    void look() { wake_.raise(); }
    // Ends the thread and its lanes.
    void stop();

    // The counters of its lanes.
    [[nodiscard]] const std::shared_ptr<WorkerCounters>& counters() const { return counters_; }

    // For whoever has a thread of his own in the place of the worker's: add() for take(), and
    // turn() until it returns false.
    void add(std::unique_ptr<ServedLane> lane);
    // Waits until there is something to do, and does it. False: the worker has stopped.
    bool turn();

private:
    using Clock = std::chrono::steady_clock;
    using Lanes = std::unordered_map<transport::Connection*, std::unique_ptr<ServedLane>>;
    // A lane that has said its last words; the worker does not look at frames that still come.
    struct ClosingLane {
        std::unique_ptr<ServedLane> lane;
        Clock::time_point until;
        bool awaits_peer; // else only until the words have gone
    };

    FrameWorker(std::unique_ptr<transport::Group> group, Event wake, Ended ended)
        : group_(std::move(group)), wake_(std::move(wake)), ended_(std::move(ended)) {}
    void run();
    void take_arrived();
    void serve_ready();
    void end_lane(std::unique_ptr<ServedLane> lane);
    void take_leave();
    void look_after_leaving();

    std::unique_ptr<transport::Group> group_;
    Event wake_; // something has arrived, or stop() was called
    Ended ended_;
    std::shared_ptr<WorkerCounters> counters_ = std::make_shared<WorkerCounters>();
    std::atomic<bool> stopping_ = false;
    std::mutex arriving_;
    std::vector<std::unique_ptr<ServedLane>> arrived_;
    std::string last_words_; // for all lanes, when the worker stops; empty: none
    Lanes lanes_;
    std::vector<ClosingLane> leaving_;
    std::vector<transport::Connection*> ready_; // of one round
    std::thread thread_;
};

} // namespace rpmem::target
