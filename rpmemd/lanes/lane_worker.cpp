#include "lanes/lane_worker.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace rpmem::target {
namespace {

using wire::PersistMessage;
using wire::PersistMode;

constexpr fabric::WaitPolicy wait_policy{std::chrono::microseconds(50), std::chrono::minutes(10)};

// The thread leaves signals to the control loop, which ends the session in order.
std::thread start_without_signals(auto body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

} // namespace

LaneWorker::LaneWorker(fabric::CompletionQueue completions, Event stop, ServedMemory memory,
                       Persister persister, Failed failed)
    : completions_(std::move(completions)), stop_(std::move(stop)), memory_(memory),
      persister_(persister), failed_(std::move(failed)) {}

Result<std::unique_ptr<LaneWorker>> LaneWorker::start(const fabric::Domain& domain,
                                                      std::size_t queue_size, ServedMemory memory,
                                                      Persister persister, Failed failed) {
    auto completions = fabric::CompletionQueue::open(domain, queue_size);
    if (!completions)
        return propagate(std::move(completions));
    auto stop = Event::make();
    if (!stop)
        return propagate(std::move(stop));
    std::unique_ptr<LaneWorker> worker(new LaneWorker(std::move(*completions), std::move(*stop),
                                                      memory, persister, std::move(failed)));
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

Result<> LaneWorker::prepare(Lane& lane) {
    const LaneBuffers& buffers = lane.buffers;
    const int status = lane.endpoint.post_receive(buffers.message, buffers.message_size,
                                                  buffers.descriptor, &lane);
    if (status != 0)
        return fabric::fail_fabric(ErrorClass::resource_limit, status,
                                   "cannot post the receive buffer of lane {}", lane.index);
    return {};
}

void LaneWorker::run() {
    // A lane that ends flushes its operations as errors. Errors without end come from a broken
    // queue, and would keep this thread busy for ever.
    constexpr unsigned error_limit = 100000;
    unsigned errors = 0;
    std::array<fabric::Completion, 16> entries;
    while (!stopping_) {
        const int got = completions_.wait(entries, wait_policy, stop_.fd());
        for (int i = 0; i < got; ++i)
            serve(entries[static_cast<std::size_t>(i)]);
        errors = got < 0 && got != -ETIMEDOUT ? errors + 1 : 0;
        if (errors > error_limit) {
            failed_(fmt::format("the completion queue of a worker is broken: {}", strerror(-got)));
            return;
        }
        if (!waiting_.empty())
            retry_waiting_answers();
    }
}

void LaneWorker::serve(const fabric::Completion& completion) {
    if ((completion.flags & FI_RECV) == 0)
        return; // an answer has gone out
    Lane& lane = *static_cast<Lane*>(completion.op_context);
    if (!perform(lane, completion.len))
        return;
    // The next message may come as soon as the answer is out: be ready before.
    const LaneBuffers& buffers = lane.buffers;
    const int status = lane.endpoint.post_receive(buffers.message, buffers.message_size,
                                                  buffers.descriptor, &lane);
    if (status != 0)
        return; // the lane is gone, and the control loop is told by the event queue
    answer(lane);
}

// False: the peer or the medium failed, and there must be no answer.
bool LaneWorker::perform(const Lane& lane, std::size_t received) {
    PersistMessage message;
    if (received < sizeof(message))
        return refuse(lane, fmt::format("a message of {} bytes is shorter than its header of {}",
                                        received, sizeof(message)));
    std::memcpy(&message, lane.buffers.message, sizeof(message));
    const std::uint64_t offset = message.addr - memory_.remote_base;
    if (message.addr < memory_.remote_base || offset > memory_.size ||
        message.size > memory_.size - offset)
        return refuse(lane,
                      fmt::format("the range of {} bytes at {:#x} is not within the pool of "
                                  "{} bytes at {:#x}",
                                  message.size, message.addr, memory_.size, memory_.remote_base));
    std::byte* const address = memory_.address + offset;
    int code = EBADMSG;
    const auto mode = static_cast<PersistMode>(message.flags & wire::persist_mode_mask);
    switch (mode) {
    case PersistMode::persist_written:
        code = persister_.persist(address, message.size);
        break;
    case PersistMode::deep_persist:
        code = persister_.deep_persist(address, message.size);
        break;
    case PersistMode::inline_data:
        if (message.size != received - sizeof(message))
            return refuse(lane, fmt::format("a message announces {} bytes of data and carries {}",
                                            message.size, received - sizeof(message)));
        code = persister_.copy_and_persist(address,
                                           {lane.buffers.message + sizeof(message), message.size});
        break;
    }
    if (code == EBADMSG)
        return refuse(lane, fmt::format("unknown persist mode in flags {:#x}", message.flags));
    if (code != 0)
        return refuse(lane, fmt::format("cannot make {} bytes at offset {} durable: {}",
                                        message.size, offset, strerror(code)));
    *lane.buffers.response = {message.flags, message.lane};
    return true;
}

bool LaneWorker::refuse(const Lane& lane, const std::string& why) {
    failed_(fmt::format("lane {}: {}", lane.index, why));
    return false;
}

void LaneWorker::answer(Lane& lane) {
    const LaneBuffers& buffers = lane.buffers;
    const int status = lane.endpoint.post_send(buffers.response, sizeof(*buffers.response),
                                               buffers.descriptor, &lane);
    if (status == -FI_EAGAIN && !lane.response_waits) {
        lane.response_waits = true;
        waiting_.push_back(&lane);
    }
}

void LaneWorker::retry_waiting_answers() {
    std::vector<Lane*> lanes;
    lanes.swap(waiting_);
    for (Lane* lane : lanes) {
        lane->response_waits = false;
        answer(*lane);
    }
}

} // namespace rpmem::target
