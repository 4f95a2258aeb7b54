// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/messages.hpp"

#include "common/base/io.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <span>
#include <string>

namespace rpmem::bench {

Result<> send_line(int fd, const Json& line) {
    const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    return write_fully(fd, std::as_bytes(std::span(text)), Deadline(start_timeout));
}

Result<Json> receive_line(int fd, milliseconds timeout) {
    const Deadline deadline(timeout);
    std::string text;
    while (!text.ends_with('\n')) {
        char next = 0;
        RPMEM_ASSIGN(const std::size_t got,
                     read_fully(fd, std::as_writable_bytes(std::span(&next, 1)), deadline));
        if (got == 0)
            return fail(ErrorClass::link_lost, ECONNRESET, "a process of rpmem-bench has ended");
        text += next;
    }
    Json line = Json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("error"))
        return fail(ErrorClass::target_refused, EREMOTEIO, "{}", line["error"].get<std::string>());
    return line;
}

Result<OtherProcess> start_process(const std::function<void(int)>& serve) {
    RPMEM_ASSIGN(SocketPair pair, make_socket_pair());
    const pid_t pid = ::fork();
    if (pid < 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot start a process");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pair.ours.reset();
        serve(pair.theirs.get());
        std::_Exit(EXIT_SUCCESS);
    }
    return OtherProcess{std::move(pair.ours), pid};
}

void wait_for(const OtherProcess& process) {
    while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace rpmem::bench
