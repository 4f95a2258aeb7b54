#include "lanes/lane_worker.hpp"

#include "base/quiet_thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace rpmem::target {
namespace {

// Nothing depends on it: a worker that sleeps is woken by messages and by whoever wants it to stop.
constexpr std::chrono::minutes longest_sleep(10);
// While an answer waits for room in the queue.
constexpr std::chrono::milliseconds short_timeout(1);
// The caller of serve_until() has other things to look after.
constexpr std::chrono::milliseconds longest_round(1);
// A lane that ends flushes its operations as errors. Errors without end come from a broken queue,
// and would keep a thread busy for ever.
constexpr unsigned error_limit = 100000;

} // namespace

LaneWorker::LaneWorker(fabric::CompletionQueue completions, Event stop,
                       std::chrono::microseconds spin_time, ServedMemory memory,
                       Persister persister, Failed failed)
    : completions_(std::move(completions)), stop_(std::move(stop)),
      usual_wait_({spin_time, longest_sleep}), wait_in_haste_({spin_time, short_timeout}),
      memory_(memory), persister_(persister), failed_(std::move(failed)) {}

Result<std::unique_ptr<LaneWorker>>
LaneWorker::make(const fabric::Domain& domain, const fabric::EventQueue& events,
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
    return worker;
}

LaneWorker::~LaneWorker() { stop(); }

Result<> LaneWorker::start_thread() {
    if (thread_.joinable())
        return {};
    try {
        thread_ = start_without_signals([this] { run(); });
    } catch (const std::system_error& error) {
        return fail_errno(ErrorClass::resource_limit, error.code().value(),
                          "cannot start a thread (see the limit 'ulimit -u')");
    }
    return {};
}

void LaneWorker::stop() {
    stopping_ = true;
    stop_.raise();
    if (thread_.joinable())
        thread_.join();
}

void LaneWorker::run() {
    while (!stopping_ && !broken_)
        take_turn(stop_.fd(), longest_sleep);
}

bool LaneWorker::serve_until(int wake, std::chrono::milliseconds limit) {
    const auto start = Deadline::Clock::now();
    bool served = false;
    // The time is looked up while the answers are on their way.
    while (take_turn(wake, limit)) {
        served = true;
        if (Deadline::Clock::now() - start >= longest_round)
            break;
    }
    return served;
}

// Serves what is there, or comes in time. False: nothing came in time, WAKE is raised, or there is
// nothing to be had from this queue any more.
bool LaneWorker::take_turn(int wake, std::chrono::milliseconds limit) {
    std::array<fabric::Completion, 16> entries;
    auto& wait = unanswered_.empty() ? usual_wait_ : wait_in_haste_;
    const int got = wait.wait(completions_, entries, wake, limit);
    if (usual_wait_.was_kept_away()) [[unlikely]]
        processor_.was_kept_away();
    for (int i = 0; i < got; ++i)
        serve(entries[static_cast<std::size_t>(i)]);
    errors_ = got < 0 && got != -ETIMEDOUT ? errors_ + 1 : 0;
    if (errors_ > error_limit) {
        broken_ = true;
        failed_(fmt::format("the completion queue of a worker is broken: {}", strerror(-got)));
        return false;
    }
    conclude();
    return got != 0 && got != -ETIMEDOUT;
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
    processor_.look(usual_wait_.shared_processor(), lane.processor_of_initiator());
}

// What came together is made durable and answered together.
void LaneWorker::conclude() {
    std::erase_if(unanswered_, [this](Lane* lane) {
        if (!lane->is_due(persister_))
            return true; // until its next message: see wire::answer_may_wait
        std::string problem = lane->persist_taken(persister_);
        if (persister_.has_failed()) // for another lane, or a header
            problem = persister_.failure_text();
        if (problem.empty())
            return lane->answer();
        failed_(fmt::format("lane {}: {}", lane->index(), problem));
        return true;
    });
}

} // namespace rpmem::target
