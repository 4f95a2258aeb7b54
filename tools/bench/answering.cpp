#include "tools/bench/answering.hpp"

#include "tools/bench/buffer.hpp"
#include "tools/bench/daemons.hpp"
#include "tools/bench/limit_messages.hpp"
#include "tools/bench/limit_pool.hpp"
#include "tools/bench/options.hpp"
#include "tools/bench/placement.hpp"
#include "tools/bench/repeat.hpp"
#include "tools/bench/tcp_socket.hpp"
#include "tools/bench/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
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
    Buffer buffer;
};

// The part of the pool that a connection has.
struct Range {
    std::size_t offset = 0;
    std::size_t size = 0;
};

class Answering {
public:
    explicit Answering(int output) : output_(output) {}

    Result<> begin(const Setup& setup) {
        if (setup.version != limit_version)
            return fail(ErrorClass::caller_fault, EPROTO,
                        "this is another version of rpmem-bench than that of who measures");
        setup_ = setup;
        if (::setenv(run_mark, setup.mark.data(), 1) != 0)
            return fail_errno(ErrorClass::resource_limit, errno, "changing the environment");
        RPMEM_ASSIGN(Listener listener, Listener::open(setup.listen_at.data()));
        listener_.emplace(std::move(listener));
        Reply reply{.port = listener_->port()};
        put(reply.text, setup.listen_at[0] != '\0' ? setup.listen_at.data() : own_address());
        return send_message(output_, reply);
    }

    Result<> run(const LimitTask& task) {
        if (task.kind == LimitKind::daemon_memory)
            return tell_daemon_memory();
        if (task.kind == LimitKind::medium)
            return send_samples(output_, write_medium(task));
        return answer(task);
    }

private:
    Result<> tell_daemon_memory() const {
        RPMEM_ASSIGN(const auto bytes, private_memory_of(Daemons::now().only_new_since({})));
        return send_message(output_, Reply{.value = bytes});
    }

    Result<> provide_pool(std::size_t range, unsigned ranges) {
        const std::size_t needed = pool_header_size + range * ranges;
        if (pool_.bytes().size() >= needed)
            return {};
        pool_ = LimitPool();
        RPMEM_ASSIGN(pool_, LimitPool::map(setup_.medium.data(),
                                           std::max<std::size_t>(needed, setup_.pool_size)));
        return {};
    }

    Result<> provide_connections(unsigned count) {
        while (connections_.size() < count) {
            RPMEM_ASSIGN(UniqueFd fd, listener_->accept(setup_.token));
            RPMEM_ASSIGN(Buffer buffer, Buffer::make(receive_buffer, Pages::touched));
            connections_.push_back({std::move(fd), std::move(buffer)});
        }
        return {};
    }

    Result<Samples> write_medium(const LimitTask& task) {
        RPMEM_TRY(provide_pool(task.request, 1));
        RPMEM_ASSIGN(Buffer source, Buffer::make(task.request, Pages::touched));
        const auto bytes = source.bytes().first(task.request);
        return repeat(task.duration, task.least, [&] {
            pool_.copy(pool_header_size, bytes);
            return pool_.drain(pool_header_size, bytes.size());
        });
    }

    Result<> answer(const LimitTask& task) {
        const std::size_t space = std::max(task.request, task.answer);
        RPMEM_TRY(provide_pool(space, task.connections));
        RPMEM_TRY(provide_connections(task.connections));
        place_itself(Side::answering, task.apart, allowed_);
        RPMEM_TRY(send_message(output_, Reply{}));
        const Nanoseconds cpu = own_cpu_time();
        RPMEM_TRY(in_threads(task.connections, [&](unsigned i) {
            return answer_until_last(connections_[i], task, pool_header_size + i * space);
        }));
        return send_message(output_, Reply{.own_cpu = (own_cpu_time() - cpu).count()});
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
    Setup setup_;
    cpu_set_t allowed_ = allowed_processors();
    std::optional<Listener> listener_;
    std::vector<Connection> connections_;
    LimitPool pool_;
};

} // namespace

void serve_answers(int input, int output) {
    // Who measures may end at any time, and behind a pipe that would be a signal.
    (void)std::signal(SIGPIPE, SIG_IGN);
    Answering answering(output);
    const auto tell = [&](const Result<>& done) {
        return done || send_message(output, refusal(done.error()));
    };
    const Result<Setup> setup = receive_message<Setup>(input, start_timeout);
    if (!setup || !tell(answering.begin(*setup)))
        return;
    while (const Result<LimitTask> task = receive_message<LimitTask>(input, longest_run))
        if (!tell(answering.run(*task)))
            return;
}

} // namespace rpmem::bench
