// A thread that serves the messages of some lanes: receive, check, make durable, answer.
#pragma once

#include "base/io.hpp"
#include "fabric/adaptive_wait.hpp"
#include "lanes/lane.hpp"

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
    // FAILED is called from the worker's thread, with what a peer did wrong or the medium refused.
    using Failed = std::function<void(std::string text)>;

    // QUEUE_SIZE: operations of all its lanes that may be under way. LANES: that it may serve.
    static Result<std::unique_ptr<LaneWorker>>
    start(const fabric::Domain& domain, const fabric::EventQueue& events, std::size_t queue_size,
          std::size_t lanes, std::chrono::microseconds spin_time, ServedMemory memory,
          Persister persister, Failed failed);
    ~LaneWorker();
    LaneWorker(const LaneWorker&) = delete;
    LaneWorker& operator=(const LaneWorker&) = delete;

    void stop(); // ends the thread; the completion queue stays

    [[nodiscard]] const fabric::CompletionQueue& completions() const { return completions_; }

private:
    LaneWorker(fabric::CompletionQueue completions, Event stop, std::chrono::microseconds spin_time,
               ServedMemory memory, Persister persister, Failed failed);
    void run();
    void serve(const fabric::Completion& completion);
    void conclude();

    fabric::CompletionQueue completions_;
    Event stop_;
    std::chrono::microseconds spin_time_;
    ServedMemory memory_;
    Persister persister_;
    Failed failed_;
    std::vector<Lane*> unanswered_; // lanes with messages taken; room for all is reserved
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace rpmem::target
