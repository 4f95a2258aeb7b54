// SPDX-License-Identifier: BSD-3-Clause
// A thread that serves lanes: receives frames, checks them, makes ranges durable and sends acks.
// The container of a lane is its state:
//   arrived_ -> lanes_    take_arrived() adds it to the group
//   arrived_ -> released  the group cannot add it
//   lanes_   -> leaving_  end_lane() or take_leave() posts an error to the initiator
//   lanes_   -> released  the same functions, if there is no error or it cannot be sent
//   leaving_ -> released  look_after_leaving(): the error was sent, the peer has closed the
//                         connection, or leaving_time has passed
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
    // Called in the thread of the worker when a lane has ended, except by end() or stop().
    // ERROR_TEXT is why the session must end, too, or empty. Also called, with lane 0, if the
    // thread fails.
    using Ended =
        std::function<void(unsigned lane, const std::string& how, std::string error_text)>;

    static Result<std::unique_ptr<FrameWorker>> make(std::unique_ptr<transport::Group> group,
                                                     Ended ended);
    ~FrameWorker();
    FrameWorker(const FrameWorker&) = delete;
    FrameWorker& operator=(const FrameWorker&) = delete;

    // Serves a lane. The first one starts the thread. Only one thread may call take() and stop().
    Result<> take(std::unique_ptr<ServedLane> lane);
    // Ends the worker, and reports WHY to the initiator on each lane. Does not wait. Thread-safe.
    void end(std::string why);
    // Wakes the worker after an event of a connection that its group cannot see. Thread-safe.
    void look() { wake_.raise(); }
    // Ends the worker and waits for its thread, which may still send errors for leaving_time.
    void stop();

    [[nodiscard]] const std::shared_ptr<WorkerCounters>& counters() const { return counters_; }

    // A caller that runs the worker in its own thread calls add() instead of take(), and calls
    // turn() until it returns false.
    void add(std::unique_ptr<ServedLane> lane);
    // Waits for work and does it. Returns false after the worker has ended.
    bool turn();

private:
    using Clock = std::chrono::steady_clock;
    using Lanes = std::unordered_map<transport::LaneConnection*, std::unique_ptr<ServedLane>>;
    // A lane on which an error was posted. It stays until the error is sent or, with AWAITS_PEER,
    // until the peer has closed the connection.
    struct ClosingLane {
        std::unique_ptr<ServedLane> lane;
        Clock::time_point until;
        bool awaits_peer;
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
    Event wake_; // raised by add(), end(), look() and stop()
    Ended ended_;
    std::shared_ptr<WorkerCounters> counters_ = std::make_shared<WorkerCounters>();
    std::atomic<bool> stopping_ = false;
    std::mutex arriving_; // protects arrived_ and end_text_
    std::vector<std::unique_ptr<ServedLane>> arrived_;
    std::string end_text_; // the error text for all lanes, from end(); empty to send none
    Lanes lanes_;
    std::vector<ClosingLane> leaving_;
    std::vector<transport::LaneConnection*> ready_; // to be served in this round
    std::thread thread_;
};

} // namespace rpmem::target
