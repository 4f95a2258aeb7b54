// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/fence.hpp"

#include "common/base/io.hpp"
#include "rpmemd/registry/lock_holder.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace rpmem::target {
namespace {

Failure cannot_end(pid_t pid, int code) {
    return fail_errno(ErrorClass::resource_limit, code == EPERM ? EACCES : code,
                      "cannot end process {}, which serves the earlier session", pid);
}

} // namespace

Result<> fence(const StateDirectory& directory, const StateFile& file,
               std::chrono::milliseconds within) {
    RPMEM_ASSIGN(const auto pid, exclusive_holder(file.fd(), directory.fd()));
    if (!pid || *pid == ::getpid())
        return {};
    const UniqueFd open(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
    if (!open)
        return errno == ESRCH ? Result<>() : cannot_end(*pid, errno);
    // Check again after opening. If the process still holds the lock, the descriptor refers to it,
    // and not to another process that has got its number.
    RPMEM_ASSIGN(const auto still, exclusive_holder(file.fd(), directory.fd()));
    if (still != pid)
        return {};
    if (::syscall(SYS_pidfd_send_signal, open.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        return cannot_end(*pid, errno);
    RPMEM_ASSIGN(const bool ended, wait_readable(open.get(), Deadline(within)));
    if (ended)
        return {};
    return fail(ErrorClass::resource_limit, EBUSY,
                "process {}, which serves the earlier session, was killed but has not exited "
                "within {} ms: it waits in the kernel, for example for an unresponsive medium; its "
                "pool cannot be opened until it exits",
                *pid, within.count());
}

} // namespace rpmem::target
