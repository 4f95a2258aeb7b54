#include "tools/bench/asking.hpp"

#include "common/base/child_process.hpp"
#include "tools/bench/answering.hpp"
#include "tools/bench/buffer.hpp"
#include "tools/bench/daemons.hpp"
#include "tools/bench/limit_messages.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/placement.hpp"
#include "tools/bench/repeat.hpp"
#include "tools/bench/strangers.hpp"
#include "tools/bench/tcp_socket.hpp"
#include "tools/bench/threads.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

namespace rpmem::bench {
namespace {

// Settings of libpmem that must be the same for all that stand on the target. ssh hands on none.
constexpr std::array medium_settings{"PMEM_IS_PMEM_FORCE", "PMEM_NO_FLUSH"};

std::string answering_command(const Options& options) {
    std::string command = "env";
    for (const char* const name : medium_settings)
        if (const char* const value = std::getenv(name))
            command += fmt::format(" {}={}", name, quoted(value));
    std::error_code error;
    const std::string program =
        options.answer_program.empty()
            ? std::filesystem::read_symlink("/proc/self/exe", error).string()
            : options.answer_program;
    return fmt::format("{} {} {}", command, quoted(program), answering_half);
}

class Asking {
public:
    explicit Asking(const Options& options) : options_(options) {}

    Result<Samples> measure(const LimitTask& task) {
        if (task.kind == LimitKind::memory_copy)
            return copy_memory(task);
        if (task.kind != LimitKind::medium)
            return exchange(task);
        RPMEM_TRY(send_message(answering_.get(), task));
        return receive_samples(answering_.get(), longest_measurement);
    }

    // What is no measurement: the value to reply.
    Result<std::uint64_t> serve(const LimitTask& task) {
        std::uint64_t value = 0;
        if (task.kind == LimitKind::connection)
            RPMEM_TRY(connect());
        if (task.kind == LimitKind::strangers_come)
            strangers_.emplace(task.lanes_at);
        if (task.kind == LimitKind::strangers_go && strangers_) {
            value = strangers_->stop();
            strangers_.reset();
        }
        if (task.kind == LimitKind::daemon_memory) {
            RPMEM_TRY(send_message(answering_.get(), task));
            RPMEM_ASSIGN(const Reply reply, receive_reply(answering_.get(), exchange_timeout));
            value = reply.value;
        }
        return value;
    }

private:
    Result<> connect() {
        return in_context("no limits of the network to " + options_.target, start_answering());
    }

    Result<> start_answering() {
        Setup setup{.version = limit_version, .pool_size = options_.pool_size()};
        if (::getrandom(setup.token.data(), setup.token.size(), 0) !=
            static_cast<ssize_t>(setup.token.size()))
            return fail_errno(ErrorClass::resource_limit, errno, "no random numbers");
        const std::string loopback = loopback_address_of(options_.target);
        const char* const mark = std::getenv(run_mark);
        put(setup.mark, mark != nullptr ? mark : "");
        put(setup.medium, options_.medium);
        put(setup.listen_at, loopback);
        RPMEM_TRY(loopback.empty() ? start_there() : start_here());
        // One that has ended already cannot be written to, either.
        Result<Reply> answered = send_message(answering_.get(), setup).and_then([&] {
            return receive_reply(answering_.get(), start_timeout);
        });
        if (loopback.empty())
            answered = in_context(
                fmt::format("'{}' through ssh, which says above what it has to say (install "
                            "rpmem-bench there, or name it by --answer-program)",
                            answering_command(options_)),
                std::move(answered));
        RPMEM_ASSIGN(const Reply reply, std::move(answered));
        const char* const address = std::getenv("RPMEM_ADDRESS");
        host_ = address != nullptr && *address != '\0' && loopback.empty() ? address
                                                                           : reply.text.data();
        port_ = reply.port;
        token_ = setup.token;
        return {};
    }

    Result<> start_here() {
        const auto serve = [](const UniqueFd& asked) { serve_answers(asked.get(), asked.get()); };
        RPMEM_ASSIGN(answering_, start_process(serve));
        return {};
    }

    Result<> start_there() {
        RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
        RPMEM_ASSIGN(ChildProcess ssh,
                     ChildProcess::start(ssh_words(options_.target, answering_command(options_)),
                                         pair.theirs.get(), pair.theirs.get(), STDERR_FILENO));
        ssh_.emplace(std::move(ssh));
        answering_ = std::move(pair.ours);
        return {};
    }

    Result<> provide_connections(unsigned count) {
        while (connections_.size() < count) {
            RPMEM_ASSIGN(UniqueFd fd, connect_to(host_, port_, token_));
            connections_.push_back(std::move(fd));
        }
        return {};
    }

    static Result<> provide(Buffer& buffer, std::size_t size) {
        if (buffer.bytes().size() >= size)
            return {};
        RPMEM_ASSIGN(buffer, Buffer::make(size, Pages::touched));
        return {};
    }

    Result<Samples> exchange(const LimitTask& task) {
        RPMEM_TRY(provide(requests_, task.request * task.connections));
        RPMEM_TRY(provide(answers_, task.answer * task.connections));
        RPMEM_TRY(send_message(answering_.get(), task));
        RPMEM_TRY(provide_connections(task.connections));
        RPMEM_TRY(receive_reply(answering_.get(), exchange_timeout));
        place_itself(Side::asking, task.apart, allowed_);
        RPMEM_ASSIGN(Samples samples, samples_of_threads(task.connections,
                                                         [&](unsigned i) { return ask(task, i); }));
        RPMEM_ASSIGN(const Reply done, receive_reply(answering_.get(), exchange_timeout));
        samples.other_cpu = Nanoseconds(done.own_cpu);
        return samples;
    }

    // The first byte of a request tells the other end which is the last; that one is not measured.
    Result<Samples> ask(const LimitTask& task, unsigned connection) {
        const Waiting waiting = waiting_of(task);
        const int fd = connections_[connection].get();
        const auto request = requests_.bytes().subspan(connection * task.request, task.request);
        const auto answer = answers_.bytes().subspan(connection * task.answer, task.answer);
        const auto once = [&]() -> Result<> {
            RPMEM_TRY(send_all(fd, request, waiting));
            return receive_all(fd, answer, waiting);
        };
        request[0] = std::byte{0};
        RPMEM_ASSIGN(Samples samples, repeat(task.duration, task.least, once));
        request[0] = std::byte{1};
        RPMEM_TRY(once());
        return samples;
    }

    Result<Samples> copy_memory(const LimitTask& task) {
        RPMEM_TRY(provide(requests_, task.request));
        RPMEM_TRY(provide(answers_, task.request));
        return samples_of_threads(1, [&](unsigned) {
            return repeat(task.duration, task.least, [&]() -> Result<> {
                std::memcpy(answers_.bytes().data(), requests_.bytes().data(), task.request);
                asm volatile("" : : "r"(answers_.bytes().data()) : "memory");
                return {};
            });
        });
    }

    const Options& options_;
    cpu_set_t allowed_ = allowed_processors();
    std::optional<ChildProcess> ssh_;
    UniqueFd answering_;
    std::string host_;
    std::uint16_t port_ = 0;
    Token token_{};
    std::vector<UniqueFd> connections_;
    Buffer requests_;
    Buffer answers_;
    std::optional<Strangers> strangers_;
};

} // namespace

void serve_limits(int control, const Options& options) {
    Asking asking(options);
    while (const auto task = receive_message<LimitTask>(control, longest_run)) {
        const auto tell = [&] {
            if (task->kind <= LimitKind::last_measured)
                return send_samples(control, asking.measure(*task));
            const Result<std::uint64_t> value = asking.serve(*task);
            return send_message(control, value ? Reply{.value = *value} : refusal(value.error()));
        };
        if (!tell())
            return;
    }
}

} // namespace rpmem::bench
