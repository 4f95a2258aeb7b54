// The process of the limits that answers.
#include "tools/bench/limits.hpp"
#include "tools/bench/mapping.hpp"
#include "tools/bench/processes.hpp"
#include "tools/bench/tcp_socket.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace rpmem::bench {
namespace {

// Of one connection. What fits comes with one call; what does not is copied, and its cache lines
// flushed, as it comes, which is quicker than to wait for all of it. The size makes no difference
// from 64 KiB to 512 KiB.
constexpr std::size_t receive_buffer = std::size_t{128} << 10;

// The address that ssh reached, as sshd tells it.
std::string own_address() {
    const char* const connection = std::getenv("SSH_CONNECTION");
    std::istringstream fields(connection != nullptr ? connection : "");
    std::string peer;
    std::string port;
    std::string address;
    fields >> peer >> port >> address;
    return address;
}

struct Connection {
    UniqueFd fd;
    Mapping buffer;
};

class Answering {
public:
    explicit Answering(int output) : output_(output) {}

    Result<Place> begin(const AnsweringSetup& setup) {
        token_ = setup.token;
        RPMEM_ASSIGN(pool_, setup.medium.empty() ? Mapping::memory(setup.pool_size, Pages::touched)
                                                 : Mapping::file(setup.medium, setup.pool_size));
        RPMEM_ASSIGN(listener_,
                     Listener::open(setup.listen_at.empty() ? own_address() : setup.listen_at));
        return listener_.place;
    }

    // What it says first tells that it is ready.
    Result<std::uint64_t> run(const LimitTask& task) {
        if (task.request == 0)
            return private_memory_of(only_new_since({}));
        RPMEM_TRY(provide_connections(task.connections));
        place_itself(Side::answering, task.apart, allowed_);
        RPMEM_TRY(send_line(output_, 0));
        const std::size_t space = std::max(task.request, task.answer);
        RPMEM_TRY(in_threads(task.connections, [&](unsigned i) {
            return answer_until_last(connections_[i], task, pool_header_size + i * space);
        }));
        return 0;
    }

private:
    Result<> provide_connections(unsigned count) {
        while (connections_.size() < count) {
            RPMEM_ASSIGN(UniqueFd fd, listener_.accept(token_));
            RPMEM_ASSIGN(Mapping buffer, Mapping::memory(receive_buffer, Pages::touched));
            connections_.push_back({std::move(fd), std::move(buffer)});
        }
        return {};
    }

    // The asking end marks the last request by its first byte.
    Result<> answer_until_last(const Connection& connection, const LimitTask& task,
                               std::size_t offset) const {
        const Waiting waiting = waiting_of(task);
        const auto buffer = connection.buffer.bytes();
        const auto reply = pool_.bytes().subspan(offset, task.answer);
        for (bool last = false; !last;) {
            for (std::size_t done = 0; done < task.request;) {
                const auto part = buffer.first(std::min(buffer.size(), task.request - done));
                RPMEM_ASSIGN(const auto got, receive_some(connection.fd.get(), part, waiting));
                if (done == 0)
                    last = buffer[0] != std::byte{0};
                if (!task.reads)
                    pool_.copy(offset + done, buffer.first(got));
                done += got;
            }
            if (!task.reads)
                RPMEM_TRY(pool_.drain(offset, task.request));
            RPMEM_TRY(send_all(connection.fd.get(), reply, waiting));
        }
        return {};
    }

    int output_;
    std::string token_;
    cpu_set_t allowed_ = allowed_processors();
    Listener listener_;
    std::vector<Connection> connections_;
    Mapping pool_;
};

} // namespace

void serve_answers(int input, int output) {
    // Who measures may end at any time, and behind a pipe that would be a signal.
    (void)std::signal(SIGPIPE, SIG_IGN);
    Answering answering(output);
    const auto setup = receive<AnsweringSetup>(input, start_timeout);
    if (!setup || !send(output, answering.begin(*setup)))
        return;
    while (const auto task = receive<LimitTask>(input, longest_run))
        if (!send(output, answering.run(*task)))
            return;
}

} // namespace rpmem::bench
