// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/limits.hpp"

#include "common/base/child_process.hpp"
#include "common/base/io.hpp"
#include "common/base/shell_word.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/processes.hpp"
#include "tools/bench/tcp_socket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

namespace rpmem::bench {
namespace {

// The receive buffer of one connection. Data that fits is received by one call. Longer data is
// copied and flushed while it arrives, which is faster than waiting for all of it. Sizes from 64
// KiB to 512 KiB give the same results.
constexpr std::size_t receive_buffer = std::size_t{128} << 10;

// Returns the address of this machine to which ssh connected, from a variable that sshd sets.
std::string own_address() {
    const char* const connection = std::getenv("SSH_CONNECTION");
    std::istringstream fields(connection != nullptr ? connection : "");
    std::string address; // the third field
    fields >> address >> address >> address;
    return address;
}

class Answering {
public:
    explicit Answering(int output) : output_(output) {}

    Result<Place> begin(const AnsweringSetup& setup) {
        RPMEM_ASSIGN(pool_, setup.medium.empty() ? Mapping::memory(setup.pool_size)
                                                 : Mapping::file(setup.medium, setup.pool_size));
        Place place;
        RPMEM_ASSIGN(listener_,
                     listen_at(setup.listen_at.empty() ? own_address() : setup.listen_at, place));
        return place;
    }

    // Serves TASK. Sends a line when this end is ready for the requests.
    Result<std::uint64_t> run(const LimitTask& task) {
        if (task.request == 0)
            return private_memory_of(only_new_since({}));
        while (connections_.size() < task.connections) {
            RPMEM_ASSIGN(UniqueFd fd, accept_from(listener_.get()));
            connections_.push_back(std::move(fd));
        }
        place(::getpid(), Side::answering, task.apart, allowed_);
        RPMEM_TRY(send_line(output_, 0));
        const std::size_t space = std::max(task.request, task.answer);
        RPMEM_TRY(in_threads(task.connections, [&](unsigned i) {
            return answer_until_last(connections_[i].get(), task, pool_header_size + i * space);
        }));
        return 0;
    }

private:
    // The asking end marks the last request by its first byte.
    Result<> answer_until_last(int fd, const LimitTask& task, std::size_t offset) const {
        const Waiting waiting = waiting_of(task);
        RPMEM_ASSIGN(const Mapping memory, Mapping::memory(receive_buffer));
        const auto buffer = memory.bytes();
        const auto reply = pool_.bytes().subspan(offset, task.answer);
        for (bool last = false; !last;) {
            for (std::size_t done = 0; done < task.request;) {
                const auto part = buffer.first(std::min(buffer.size(), task.request - done));
                RPMEM_ASSIGN(const auto got, receive_some(fd, part, waiting));
                if (done == 0)
                    last = buffer[0] != std::byte{0};
                if (!task.reads)
                    pool_.copy(offset + done, buffer.first(got));
                done += got;
            }
            if (!task.reads)
                RPMEM_TRY(pool_.drain(offset, task.request));
            RPMEM_TRY(send_all(fd, reply, waiting));
        }
        return {};
    }

    int output_;
    cpu_set_t allowed_ = allowed_processors();
    UniqueFd listener_;
    std::vector<UniqueFd> connections_;
    Mapping pool_;
};

// Variables that the answering process needs as well: the mark of the daemons of this run, and
// settings of libpmem. ssh does not pass them on.
constexpr std::array handed_on{run_mark, "PMEM_IS_PMEM_FORCE", "PMEM_NO_FLUSH"};

std::string answering_command(const Options& options) {
    std::string command = "env";
    for (const char* const name : handed_on)
        if (const char* const value = std::getenv(name))
            command += fmt::format(" {}={}", name, shell_word(value));
    const std::string program = options.answer_program.empty()
                                    ? std::filesystem::read_symlink(own_program).string()
                                    : options.answer_program;
    return fmt::format("{} {} {}", command, shell_word(program), answering_half);
}

class Asking {
public:
    explicit Asking(const Options& options) : options_(options) {}

    Result<int> start_answering() {
        const std::string loopback = loopback_address_of(options_.target);
        AnsweringSetup setup{
            .listen_at = loopback, .pool_size = options_.pool_size(), .medium = options_.medium};
        if (!loopback.empty())
            return start_program({own_program, answering_half}, setup);
        if (const char* const address = std::getenv("RPMEM_ADDRESS"))
            setup.listen_at = address;
        const std::string command = answering_command(options_);
        return in_context(
            fmt::format("'{}' through ssh, which says above what it has to say (install "
                        "rpmem-bench there, or name it by --answer-program)",
                        command),
            start_program(ssh_words(options_.target, command), setup));
    }

    Result<Json> serve(const LimitTask& task) {
        if (task.request == 0)
            return ask<Json>(answering_.get(), task, start_timeout);
        RPMEM_TRY(send_line(answering_.get(), task));
        while (connections_.size() < task.connections) {
            RPMEM_ASSIGN(UniqueFd fd, connect_to(place_));
            connections_.push_back(std::move(fd));
        }
        RPMEM_TRY(receive_line(answering_.get(), start_timeout));
        place(::getpid(), Side::asking, task.apart, allowed_);
        RPMEM_ASSIGN(const Round round, measure_round(task.connections, [&](unsigned i) {
                         return exchange(connections_[i].get(), task);
                     }));
        RPMEM_TRY(receive_line(answering_.get(), start_timeout));
        return round;
    }

private:
    Result<int> start_program(const std::vector<std::string>& words, const AnsweringSetup& setup) {
        RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
        const int theirs = pair.theirs.get();
        RPMEM_ASSIGN(ChildProcess child, ChildProcess::start(words, theirs, theirs, STDERR_FILENO));
        program_.emplace(std::move(child));
        answering_ = std::move(pair.ours);
        pair.theirs.reset(); // so that reads end when the program ends
        RPMEM_ASSIGN(place_, ask<Place>(answering_.get(), setup, start_timeout));
        return 0;
    }

    // The first byte of a request marks the last request, which is not measured.
    static Result<Samples> exchange(int fd, const LimitTask& task) {
        const Waiting waiting = waiting_of(task);
        RPMEM_ASSIGN(const Mapping requests, Mapping::memory(task.request));
        RPMEM_ASSIGN(const Mapping answers, Mapping::memory(task.answer));
        const auto request = requests.bytes();
        const auto once = [&]() -> Result<> {
            RPMEM_TRY(send_all(fd, request, waiting));
            return receive_all(fd, answers.bytes(), waiting);
        };
        request[0] = std::byte{0};
        RPMEM_ASSIGN(Samples samples, repeat(task.pace, once));
        request[0] = std::byte{1};
        RPMEM_TRY(once());
        return samples;
    }

    const Options& options_;
    cpu_set_t allowed_ = allowed_processors();
    std::optional<ChildProcess> program_; // the answering process, or ssh
    UniqueFd answering_;
    Place place_;
    std::vector<UniqueFd> connections_;
};

} // namespace

void serve_answers(int input, int output) {
    // The measuring process may end at any time. If OUTPUT is a pipe, a write would then raise
    // SIGPIPE.
    (void)std::signal(SIGPIPE, SIG_IGN);
    Answering answering(output);
    const auto setup = receive<AnsweringSetup>(input, start_timeout);
    if (!setup || !send(output, answering.begin(*setup)))
        return;
    while (const auto task = receive<LimitTask>(input, max_run))
        if (!send(output, answering.run(*task)))
            return;
}

Result<OtherProcess> start_limits(const Options& options) {
    RPMEM_ASSIGN(OtherProcess process, start_process([&](int asked) {
                     Asking asking(options);
                     if (!send(asked, asking.start_answering()))
                         return;
                     while (const auto task = receive<LimitTask>(asked, max_run))
                         if (!send(asked, asking.serve(*task)))
                             return;
                 }));
    RPMEM_TRY(receive_line(process.socket.get(), max_run));
    return process;
}

} // namespace rpmem::bench
