// The process of the limits that asks, and measures.
#include "common/base/child_process.hpp"
#include "common/base/io.hpp"
#include "tools/bench/limits.hpp"
#include "tools/bench/login.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/processes.hpp"
#include "tools/bench/tcp_socket.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace rpmem::bench {
namespace {

// What must be the same for all that stand on the target: the mark of its daemons, and settings of
// libpmem. ssh hands on none.
constexpr std::array handed_on{run_mark, "PMEM_IS_PMEM_FORCE", "PMEM_NO_FLUSH"};

std::string answering_command(const Options& options) {
    std::string command = "env";
    for (const char* const name : handed_on)
        if (const char* const value = std::getenv(name))
            command += fmt::format(" {}={}", name, quoted(value));
    const std::string program = options.answer_program.empty()
                                    ? std::filesystem::read_symlink(own_program).string()
                                    : options.answer_program;
    return fmt::format("{} {} {}", command, quoted(program), answering_half);
}

class Asking {
public:
    explicit Asking(const Options& options) : options_(options) {}

    Result<int> start_answering() {
        const std::string loopback = loopback_address_of(options_.target);
        std::ifstream("/proc/sys/kernel/random/uuid") >> token_;
        AnsweringSetup setup{.listen_at = loopback,
                             .pool_size = options_.pool_size(),
                             .medium = options_.medium,
                             .token = token_};
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

    Result<Limit> measure(const LimitTask& task) {
        Limit limit;
        if (task.request == 0) {
            RPMEM_ASSIGN(limit.daemon_bytes,
                         ask<std::uint64_t>(answering_.get(), task, start_timeout));
            return limit;
        }
        RPMEM_TRY(provide(requests_, task.request * task.connections));
        RPMEM_TRY(provide(answers_, task.answer * task.connections));
        RPMEM_TRY(send_line(answering_.get(), task));
        while (connections_.size() < task.connections) {
            RPMEM_ASSIGN(UniqueFd fd, connect_to(place_, token_));
            connections_.push_back(std::move(fd));
        }
        RPMEM_TRY(receive_line(answering_.get(), start_timeout));
        place_itself(Side::asking, task.apart, allowed_);
        RPMEM_ASSIGN(limit.round, measure_round(task.connections,
                                                [&](unsigned i) { return exchange(i, task); }));
        RPMEM_TRY(receive_line(answering_.get(), start_timeout));
        return limit;
    }

private:
    Result<int> start_program(const std::vector<std::string>& words, const AnsweringSetup& setup) {
        RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
        const int theirs = pair.theirs.get();
        RPMEM_ASSIGN(ChildProcess child, ChildProcess::start(words, theirs, theirs, STDERR_FILENO));
        program_.emplace(std::move(child));
        answering_ = std::move(pair.ours);
        pair.theirs.reset(); // so that the end of the program is seen
        RPMEM_ASSIGN(place_, ask<Place>(answering_.get(), setup, start_timeout));
        return 0;
    }

    static Result<> provide(Mapping& buffer, std::size_t size) {
        if (buffer.bytes().size() < size) {
            RPMEM_ASSIGN(buffer, Mapping::memory(size, Pages::touched));
        }
        return {};
    }

    // The first byte of a request tells the other end which is the last; that one is not measured.
    Result<Samples> exchange(unsigned connection, const LimitTask& task) {
        const Waiting waiting = waiting_of(task);
        const int fd = connections_[connection].get();
        const auto request = requests_.bytes().subspan(connection * task.request, task.request);
        const auto answer = answers_.bytes().subspan(connection * task.answer, task.answer);
        const auto once = [&]() -> Result<> {
            RPMEM_TRY(send_all(fd, request, waiting));
            return receive_all(fd, answer, waiting);
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
    std::string token_;
    Place place_;
    std::vector<UniqueFd> connections_;
    Mapping requests_;
    Mapping answers_;
};

} // namespace

Result<OtherProcess> start_limits(const Options& options) {
    RPMEM_ASSIGN(OtherProcess process, start_process([&](int asked) {
                     Asking asking(options);
                     if (!send(asked, asking.start_answering()))
                         return;
                     while (const auto task = receive<LimitTask>(asked, longest_run))
                         if (!send(asked, asking.measure(*task)))
                             return;
                 }));
    RPMEM_TRY(receive_line(process.socket.get(), longest_measurement));
    return process;
}

} // namespace rpmem::bench
