// A thread that serves the messages of some lanes: receive, check, make durable, answer.
#pragma once

#include "base/io.hpp"
#include "fabric/endpoint.hpp"
#include "lanes/persister.hpp"
#include "wire/persist_message.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::target {

// The pool as messages address it.
struct ServedMemory {
    std::byte* address;
    std::size_t size;
    std::uint64_t remote_base; // what peers add to an offset
};

struct LaneBuffers {
    std::byte* message; // sizeof(PersistMessage) + inline size
    std::size_t message_size;
    wire::PersistResponse* response;
    void* descriptor;
};

struct Lane {
    unsigned index;
    LaneBuffers buffers;
    fabric::Endpoint endpoint;
    bool connected = false;
    bool response_waits = false; // the send queue was full
};

class LaneWorker {
public:
    // FAILED is called from the worker's thread, with what a peer did wrong or the medium refused.
    using Failed = std::function<void(std::string text)>;

    static Result<std::unique_ptr<LaneWorker>> start(const fabric::Domain& domain,
                                                     std::size_t queue_size, ServedMemory memory,
                                                     Persister persister, Failed failed);
    ~LaneWorker();
    LaneWorker(const LaneWorker&) = delete;
    LaneWorker& operator=(const LaneWorker&) = delete;

    void stop(); // ends the thread; the completion queue stays

    [[nodiscard]] const fabric::CompletionQueue& completions() const { return completions_; }
    // Makes LANE ready for its first message; before the connection is accepted.
    static Result<> prepare(Lane& lane);

private:
    LaneWorker(fabric::CompletionQueue completions, Event stop, ServedMemory memory,
               Persister persister, Failed failed);
    void run();
    void serve(const fabric::Completion& completion);
    void answer(Lane& lane);
    void retry_waiting_answers();
    bool perform(const Lane& lane, std::size_t received);
    bool refuse(const Lane& lane, const std::string& why);

    fabric::CompletionQueue completions_;
    Event stop_;
    ServedMemory memory_;
    Persister persister_;
    Failed failed_;
    std::vector<Lane*> waiting_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

} // namespace rpmem::target
