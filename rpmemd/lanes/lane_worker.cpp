#include "lanes/lane_worker.hpp"

#include "base/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rpmem::target {
namespace {

// Nothing depends on it: a worker that sleeps is woken by messages and by stop().
constexpr std::chrono::minutes usual_timeout(10);
// While an answer waits for room in the queue.
constexpr std::chrono::milliseconds short_timeout(1);

} // namespace

LaneWorker::LaneWorker(fabric::CompletionQueue completions, Event stop,
                       std::chrono::microseconds spin_time, ServedMemory memory,
                       Persister persister, Failed failed)
    : completions_(std::move(completions)), stop_(std::move(stop)), spin_time_(spin_time),
      memory_(memory), persister_(persister), failed_(std::move(failed)) {}

Result<std::unique_ptr<LaneWorker>>
LaneWorker::start(const fabric::Domain& domain, const fabric::EventQueue& events,
                  std::size_t queue_size, std::size_t lanes, std::chrono::microseconds spin_time,
                  ServedMemory memory, Persister persister, Failed failed) {
    auto completions = fabric::CompletionQueue::open(domain, events, queue_size);
    if (!completions)
        return propagate(std::move(completions));
    auto stop = Event::make();
    if (!stop)
        return propagate(std::move(stop));
    std::unique_ptr<LaneWorker> worker(new LaneWorker(std::move(*completions), std::move(*stop),
                                                      spin_time, memory, persister,
                                                      std::move(failed)));
    worker->unanswered_.reserve(lanes);
    worker->thread_ = start_without_signals([self = worker.get()] { self->run(); });
    return worker;
}

LaneWorker::~LaneWorker() { stop(); }

void LaneWorker::stop() {
    stopping_ = true;
    stop_.raise();
    if (thread_.joinable())
        thread_.join();
}

void LaneWorker::run() {
    // A lane that ends flushes its operations as errors. Errors without end come from a broken
    // queue, and would keep this thread busy for ever.
    constexpr unsigned error_limit = 100000;
    unsigned errors = 0;
    std::array<fabric::Completion, 16> entries;
    fabric::AdaptiveWait usual({spin_time_, usual_timeout});
    fabric::AdaptiveWait in_haste({spin_time_, short_timeout});
    while (!stopping_) {
        auto& wait = unanswered_.empty() ? usual : in_haste;
        const int got = wait.wait(completions_, entries, stop_.fd());
        for (int i = 0; i < got; ++i)
            serve(entries[static_cast<std::size_t>(i)]);
        errors = got < 0 && got != -ETIMEDOUT ? errors + 1 : 0;
        if (errors > error_limit) {
            failed_(fmt::format("the completion queue of a worker is broken: {}", strerror(-got)));
            return;
        }
        conclude();
    }
}

void LaneWorker::serve(const fabric::Completion& completion) {
    if ((completion.flags & FI_RECV) == 0)
        return;
    const auto& buffer = *static_cast<Lane::MessageBuffer*>(completion.op_context);
    Lane& lane = *buffer.lane;
    const std::string problem = lane.take(buffer, completion.len, memory_, persister_);
    if (!problem.empty())
        failed_(fmt::format("lane {}: {}", lane.index(), problem));
    else if (std::find(unanswered_.begin(), unanswered_.end(), &lane) == unanswered_.end())
        unanswered_.push_back(&lane);
}

// What came together is made durable and answered together.
void LaneWorker::conclude() {
    std::erase_if(unanswered_, [this](Lane* lane) {
        if (!lane->is_due(persister_))
            return true; // until its next message: see wire::answer_may_wait
        const std::string problem = lane->persist_taken(persister_);
        if (problem.empty())
            return lane->answer();
        failed_(fmt::format("lane {}: {}", lane->index(), problem));
        return true;
    });
}

} // namespace rpmem::target
