// Serves the messages of some lanes: receive, check, make durable, answer. In a thread of its own,
// or in that of whoever calls it now and then.
#pragma once

#include "base/io.hpp"
#include "fabric/adaptive_wait.hpp"
#include "lanes/lane.hpp"
#include "lanes/processor_choice.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::target {

class LaneWorker {
public:
    // FAILED is called from the thread that serves, with what a peer did wrong or the medium
    // refused.
    using Failed = std::function<void(std::string text)>;

    // QUEUE_SIZE: operations of all its lanes that may be under way. LANES: that it may serve.
    static Result<std::unique_ptr<LaneWorker>>
    make(const fabric::Domain& domain, const fabric::EventQueue& events, std::size_t queue_size,
         std::size_t lanes, std::chrono::microseconds spin_time, ServedMemory memory,
         Persister persister, Failed failed);
    ~LaneWorker();
    LaneWorker(const LaneWorker&) = delete;
    LaneWorker& operator=(const LaneWorker&) = delete;

    // From now on a thread of its own serves. May be called again.
    Result<> start_thread();
    // Serves in the caller's thread, which must always be the same. Returns when WAKE is readable,
    // when nothing has come for as long as LIMIT says, and under constant load soon nevertheless.
    // True: there was something to serve.
    bool serve_until(int wake, std::chrono::milliseconds limit);

    void stop(); // ends the thread, if there is one; the completion queue stays

    [[nodiscard]] const fabric::CompletionQueue& completions() const { return completions_; }

private:
    LaneWorker(fabric::CompletionQueue completions, Event stop, std::chrono::microseconds spin_time,
               ServedMemory memory, Persister persister, Failed failed);
    void run();
    bool take_turn(int wake, std::chrono::milliseconds limit);
    void serve(const fabric::Completion& completion);
    void conclude();

    fabric::CompletionQueue completions_;
    Event stop_;
    fabric::AdaptiveWait usual_wait_;
    fabric::AdaptiveWait wait_in_haste_; // while an answer waits for room in the queue
    ProcessorChoice processor_;
    ServedMemory memory_;
    Persister persister_;
    Failed failed_;
    std::vector<Lane*> unanswered_; // lanes with messages taken; room for all is reserved
    unsigned errors_ = 0;           // in a row
    bool broken_ = false;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace rpmem::target
