#include "limit_processes.hpp"

#include "fabric_end.hpp"
#include "limit_messages.hpp"
#include "medium.hpp"
#include "placement.hpp"
#include "tcp_end.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace rpmem::bench {
namespace {

constexpr std::uint64_t calibration = 4;
constexpr std::uint64_t most_samples = 200000;

Exchange exchange_of(const AnswerTask& task) {
    return {task.request, task.answer, task.count, task.kind == LimitKind::tcp_spinning,
            task.connections};
}

// Those that sleep are left where the scheduler wants them. If it cannot be done, it is not.
void choose_processor(LimitKind kind, Side side, const cpu_set_t& allowed) {
    const bool spins = kind == LimitKind::tcp_spinning || kind == LimitKind::fabric;
    const cpu_set_t chosen = spins ? processor_of(side, allowed) : allowed;
    (void)sched_setaffinity(0, sizeof(chosen), &chosen);
}

// The process that answers.
class Answering {
public:
    Answering(UniqueFd control, std::string provider)
        : control_(std::move(control)), provider_(std::move(provider)) {}

    void serve() {
        while (const auto task = receive_message<AnswerTask>(control_.get())) {
            if (const Result<> done = task->count == 0 ? listen(*task) : run(*task); !done)
                (void)send_message(control_.get(), refusal(done.error()));
        }
    }

private:
    Result<> listen(const AnswerTask& task) {
        Reply reply;
        if (task.kind == LimitKind::fabric) {
            auto end = FabricEnd::listen(provider_);
            if (!end)
                return propagate(std::move(end));
            fabric_ = std::move(*end);
            reply.port = fabric_->port();
            (void)send_message(control_.get(), reply);
            // If it fails, so does connecting, and the other end tells why.
            if (!fabric_->accept())
                fabric_.reset();
            return {};
        }
        auto end = TcpEnd::listen();
        if (!end)
            return propagate(std::move(end));
        tcp_ = std::move(*end);
        reply.port = tcp_->port();
        (void)send_message(control_.get(), reply);
        return {};
    }

    Result<> run(const AnswerTask& task) {
        const Exchange exchange = exchange_of(task);
        const bool over_fabric = task.kind == LimitKind::fabric;
        if (over_fabric ? !fabric_ : !tcp_)
            return fail(ErrorClass::bug, ENOTCONN, "the raw measurements are not connected");
        RPMEM_TRY(over_fabric ? fabric_->prepare(exchange) : tcp_->prepare(exchange));
        choose_processor(task.kind, Side::answering, allowed_);
        (void)send_message(control_.get(), Reply{});
        const Nanoseconds cpu = own_cpu_time();
        RPMEM_TRY(over_fabric ? fabric_->answer(exchange) : tcp_->answer(exchange));
        Reply reply;
        reply.own_cpu = (own_cpu_time() - cpu).count();
        (void)send_message(control_.get(), reply);
        return {};
    }

    UniqueFd control_;
    std::string provider_;
    cpu_set_t allowed_ = allowed_processors();
    std::optional<TcpEnd> tcp_;
    std::optional<FabricEnd> fabric_;
};

// The process that asks, and measures.
class Asking {
public:
    Asking(UniqueFd answering, std::string provider, std::string medium_path)
        : answering_(std::move(answering)), provider_(std::move(provider)),
          medium_path_(std::move(medium_path)) {}

    Result<Samples> measure(const LimitTask& task) {
        if (task.kind == LimitKind::memory_copy)
            return copy_memory(task);
        if (task.kind == LimitKind::medium)
            return write_medium(task);
        RPMEM_TRY(connect(task.kind));
        const Result<Samples> first = exchange(task, calibration);
        if (!first)
            return Failure(first.error());
        std::vector<std::uint64_t> values = first->nanoseconds;
        std::sort(values.begin(), values.end());
        const auto typical = std::max<std::uint64_t>(values[values.size() / 2], 1);
        const auto fitting = static_cast<std::uint64_t>(task.duration.count()) / typical;
        return exchange(task,
                        std::clamp(fitting, std::max<std::uint64_t>(task.least, 1), most_samples));
    }

private:
    Result<Reply> hear() {
        const auto reply = receive_message<Reply>(answering_.get());
        if (!reply)
            return no_answer();
        RPMEM_TRY(result_of(*reply));
        return *reply;
    }

    Result<> connect(LimitKind kind) {
        const bool over_fabric = kind == LimitKind::fabric;
        if (over_fabric ? fabric_.has_value() : tcp_.has_value())
            return {};
        if (!send_message(answering_.get(), AnswerTask{.kind = kind}))
            return no_answer();
        const Result<Reply> reply = hear();
        if (!reply)
            return Failure(reply.error());
        if (!over_fabric) {
            tcp_.emplace(reply->port);
            return {};
        }
        auto end = FabricEnd::connect(provider_, reply->port);
        if (!end)
            return propagate(std::move(end));
        fabric_ = std::move(*end);
        return {};
    }

    Result<Samples> exchange(const LimitTask& task, std::uint64_t count) {
        const AnswerTask answer_task{task.kind, task.connections, task.request, task.answer, count};
        const Exchange exchange = exchange_of(answer_task);
        const bool over_fabric = task.kind == LimitKind::fabric;
        if (!send_message(answering_.get(), answer_task))
            return no_answer();
        if (!over_fabric)
            RPMEM_TRY(tcp_->prepare(exchange));
        choose_processor(task.kind, Side::asking, allowed_);
        if (const Result<Reply> ready = hear(); !ready)
            return Failure(ready.error());
        Samples samples;
        const Nanoseconds begin = now();
        const Nanoseconds cpu = own_cpu_time();
        RPMEM_TRY(over_fabric ? fabric_->ask(exchange, samples.nanoseconds)
                              : tcp_->ask(exchange, samples.nanoseconds));
        samples.own_cpu = own_cpu_time() - cpu;
        samples.elapsed = now() - begin;
        const Result<Reply> done = hear();
        if (!done)
            return Failure(done.error());
        samples.other_cpu = Nanoseconds(done->own_cpu);
        return samples;
    }

    static Result<> provide(Buffer& buffer, std::size_t size) {
        if (buffer.bytes().size() >= size)
            return {};
        Result<Buffer> larger = Buffer::make(size, Pages::touched);
        if (!larger)
            return propagate(std::move(larger));
        buffer = std::move(*larger);
        return {};
    }

    // As often as fits into the task's duration.
    template <typename Copy>
    static Result<Samples> repeat(const LimitTask& task, Copy copy) {
        Samples samples;
        const Nanoseconds begin = now();
        const Nanoseconds cpu = own_cpu_time();
        Nanoseconds time{};
        while (samples.nanoseconds.size() < most_samples &&
               (time < task.duration || samples.nanoseconds.size() < task.least)) {
            const Nanoseconds started = now();
            RPMEM_TRY(copy());
            samples.nanoseconds.push_back(static_cast<std::uint64_t>((now() - started).count()));
            time = now() - begin;
        }
        samples.own_cpu = own_cpu_time() - cpu;
        samples.elapsed = time;
        return samples;
    }

    Result<Samples> copy_memory(const LimitTask& task) {
        RPMEM_TRY(provide(source_, task.request));
        RPMEM_TRY(provide(destination_, task.request));
        return repeat(task, [&]() -> Result<> {
            std::memcpy(destination_.bytes().data(), source_.bytes().data(), task.request);
            asm volatile("" : : "r"(destination_.bytes().data()) : "memory");
            return {};
        });
    }

    Result<Samples> write_medium(const LimitTask& task) {
        RPMEM_TRY(provide(source_, task.request));
        const auto bytes = source_.bytes().first(task.request);
        if (!medium_ || medium_->size() < task.request) {
            Result<Medium> larger = Medium::map(medium_path_, task.request);
            if (!larger)
                return propagate(std::move(larger));
            medium_ = std::move(*larger);
            // So that the first touch of a page is not part of it.
            RPMEM_TRY(medium_->write(bytes));
        }
        return repeat(task, [&] { return medium_->write(bytes); });
    }

    UniqueFd answering_;
    std::string provider_;
    cpu_set_t allowed_ = allowed_processors();
    std::optional<TcpEnd> tcp_;
    std::optional<FabricEnd> fabric_;
    Buffer source_;
    Buffer destination_;
    std::string medium_path_;
    std::optional<Medium> medium_;
};

bool report(int control, const Result<Samples>& samples) {
    if (!samples)
        return send_message(control, refusal(samples.error()));
    Reply reply;
    reply.samples = samples->nanoseconds.size();
    reply.elapsed = samples->elapsed.count();
    reply.own_cpu = samples->own_cpu.count();
    reply.other_cpu = samples->other_cpu.count();
    return send_message(control, reply) &&
           send_bytes(control, std::as_bytes(std::span(samples->nanoseconds)));
}

} // namespace

Result<UniqueFd> start_process(const std::function<void(UniqueFd)>& serve) {
    Result<SocketPair> pair = make_socket_pair();
    if (!pair)
        return propagate(std::move(pair));
    const pid_t pid = ::fork();
    if (pid < 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot start a process");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pair->ours.reset();
        serve(std::move(pair->theirs));
        std::_Exit(EXIT_SUCCESS);
    }
    return std::move(pair->ours);
}

void serve_limits(const UniqueFd& control, const std::string& provider, const std::string& medium) {
    Result<UniqueFd> answering =
        start_process([&](UniqueFd asked) { Answering(std::move(asked), provider).serve(); });
    if (!answering) {
        (void)send_message(control.get(), refusal(answering.error()));
        return;
    }
    Asking asking(std::move(*answering), provider, medium);
    while (const auto task = receive_message<LimitTask>(control.get()))
        if (!report(control.get(), asking.measure(*task)))
            return;
}

} // namespace rpmem::bench
