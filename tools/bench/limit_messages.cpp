#include "tools/bench/limit_messages.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace rpmem::bench {

Reply refusal(const Error& error) {
    Reply reply{.error = error.code};
    put(reply.text, error.text);
    return reply;
}

Result<> send_bytes(int fd, std::span<const std::byte> bytes) {
    return write_fully(fd, bytes, Deadline(exchange_timeout));
}

Result<> receive_bytes(int fd, std::span<std::byte> bytes, milliseconds timeout) {
    RPMEM_ASSIGN(const std::size_t got, read_fully(fd, bytes, Deadline(timeout)));
    if (got != bytes.size())
        return fail(ErrorClass::link_lost, ECONNRESET, "the process of the limits has ended");
    return {};
}

Result<> send_samples(int fd, const Result<Samples>& samples) {
    if (!samples)
        return send_message(fd, refusal(samples.error()));
    RPMEM_TRY(send_message(fd, Reply{.samples = samples->nanoseconds.size(),
                                     .elapsed = samples->elapsed.count(),
                                     .own_cpu = samples->own_cpu.count(),
                                     .other_cpu = samples->other_cpu.count()}));
    return send_bytes(fd, std::as_bytes(std::span(samples->nanoseconds)));
}

Result<Reply> receive_reply(int fd, milliseconds timeout) {
    RPMEM_ASSIGN(Reply reply, receive_message<Reply>(fd, timeout));
    if (reply.version != limit_version)
        return fail(ErrorClass::caller_fault, EPROTO,
                    "what answers is no rpmem-bench of this version, or the target's shell says "
                    "something before it");
    if (reply.error != 0)
        return fail(ErrorClass::target_refused, reply.error, "{}", reply.text.data());
    return reply;
}

Result<Samples> receive_samples(int fd, milliseconds timeout) {
    RPMEM_ASSIGN(const Reply reply, receive_reply(fd, timeout));
    Samples samples;
    samples.nanoseconds.resize(reply.samples);
    RPMEM_TRY(receive_bytes(fd, std::as_writable_bytes(std::span(samples.nanoseconds)),
                            exchange_timeout));
    samples.elapsed = Nanoseconds(reply.elapsed);
    samples.own_cpu = Nanoseconds(reply.own_cpu);
    samples.other_cpu = Nanoseconds(reply.other_cpu);
    return samples;
}

Result<UniqueFd> start_process(const std::function<void(const UniqueFd&)>& serve) {
    RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
    const pid_t pid = ::fork();
    if (pid < 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot start a process");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pair.ours.reset();
        serve(pair.theirs);
        std::_Exit(EXIT_SUCCESS);
    }
    return std::move(pair.ours);
}

} // namespace rpmem::bench
