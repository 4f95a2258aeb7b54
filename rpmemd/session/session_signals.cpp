// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/session/session_signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace rpmem::target {

Result<UniqueFd> take_over_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot create a signalfd (ulimit -n, or a container's seccomp profile)");
    return fd;
}

std::string describe_signal(int fd) {
    signalfd_siginfo signal{};
    signal.ssi_signo = SIGTERM;
    [[maybe_unused]] const ssize_t got = ::read(fd, &signal, sizeof(signal));
    return fmt::format("SIG{}, from process {} of user {}",
                       ::sigabbrev_np(static_cast<int>(signal.ssi_signo)), signal.ssi_pid,
                       signal.ssi_uid);
}

} // namespace rpmem::target
