// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/fence.hpp"

#include "common/base/io.hpp"
#include "common/base/kernel_files.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <optional>
#include <sstream>

namespace rpmem::target {
namespace {

constexpr int field_of_start_time = 22; // of /proc/PID/stat, see proc(5)

std::optional<std::uint64_t> start_time_of(const std::string& process) {
    const std::string line = line_of("/proc/" + process + "/stat");
    const auto name_end = line.rfind(')'); // of the second field, which may have blanks
    if (name_end == std::string::npos)
        return std::nullopt;
    std::istringstream fields(line.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < field_of_start_time; ++field)
        fields >> skipped;
    std::uint64_t start_time = 0;
    if (!(fields >> start_time))
        return std::nullopt;
    return start_time;
}

std::string this_machine() {
    char name[64];
    const ssize_t length = ::readlink("/proc/self/ns/pid", name, sizeof(name));
    return line_of("/proc/sys/kernel/random/boot_id") + " " +
           std::string(name, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

Failure cannot_end(const ProcessIdentity& process, int code) {
    return fail_errno(ErrorClass::resource_limit, code == EPERM ? EACCES : code,
                      "cannot end process {}, which serves the earlier session", process.pid);
}

} // namespace

Result<ProcessIdentity> own_identity() {
    const auto start_time = start_time_of("self");
    if (!start_time)
        return fail(ErrorClass::resource_limit, ENOENT,
                    "/proc/self/stat cannot be read: is /proc mounted?");
    return ProcessIdentity{.pid = static_cast<std::uint64_t>(::getpid()),
                           .start_time = *start_time,
                           .machine = this_machine()};
}

Result<> fence(const ProcessIdentity& process, std::chrono::milliseconds within) {
    if (process.machine != this_machine())
        return fail(ErrorClass::resource_limit, EBUSY,
                    "the earlier session is served by process {} on another machine or in another "
                    "container, where it cannot be ended from here",
                    process.pid);
    if (process.pid <= 1 || process.pid > INT_MAX)
        return {};
    const auto pid = static_cast<pid_t>(process.pid);
    const UniqueFd open(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!open && errno != ESRCH)
        return cannot_end(process, errno);
    // Behind the opening: from now on the descriptor means the process that is looked at here.
    if (!open || start_time_of(std::to_string(pid)) != process.start_time || pid == ::getpid())
        return {};
    if (::syscall(SYS_pidfd_send_signal, open.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        return cannot_end(process, errno);
    RPMEM_ASSIGN(const bool ended, wait_readable(open.get(), Deadline(within)));
    if (ended)
        return {};
    return fail(ErrorClass::resource_limit, EBUSY,
                "process {}, which serves the earlier session, was killed and has not ended within "
                "{} ms: it waits in the kernel, as for a medium that hangs; until it ends, nobody "
                "else can have its pool",
                process.pid, within.count());
}

} // namespace rpmem::target
