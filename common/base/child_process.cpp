// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/child_process.hpp"

#include "common/base/io.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

extern char** environ;

namespace rpmem {
namespace {

// Owns an argument object of posix_spawn(3).
template <typename T, auto init, auto destroy>
class SpawnObject {
public:
    SpawnObject() { init(&object_); }
    ~SpawnObject() { destroy(&object_); }
    SpawnObject(const SpawnObject&) = delete;
    SpawnObject& operator=(const SpawnObject&) = delete;
    T* get() { return &object_; }

private:
    T object_{};
};
using FileActions = SpawnObject<posix_spawn_file_actions_t, &posix_spawn_file_actions_init,
                                &posix_spawn_file_actions_destroy>;
using Attributes = SpawnObject<posix_spawnattr_t, &posix_spawnattr_init, &posix_spawnattr_destroy>;

// STANDARD are the descriptors that become 0, 1 and 2 in the child. Returns 0 or a positive errno
// value.
int set_up(FileActions& actions, Attributes& attributes, const std::array<UniqueFd, 3>& standard) {
    int status = 0;
    for (std::size_t i = 0; i < standard.size() && status == 0; ++i)
        status =
            posix_spawn_file_actions_adddup2(actions.get(), standard[i].get(), static_cast<int>(i));
    // The application may have descriptors without close-on-exec.
    if (status == 0)
        status = posix_spawn_file_actions_addclosefrom_np(actions.get(), STDERR_FILENO + 1);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    if (status == 0)
        status = posix_spawnattr_setsigmask(attributes.get(), &none);
    if (status == 0)
        status = posix_spawnattr_setsigdefault(attributes.get(), &all);
    if (status == 0)
        status = posix_spawnattr_setpgroup(attributes.get(), 0);
    if (status == 0)
        status = posix_spawnattr_setflags(
            attributes.get(), static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                 POSIX_SPAWN_SETPGROUP));
    return status;
}

// Duplicates FD to a number above 2. In an application that closed its standard descriptors, FD may
// be 0, 1 or 2 itself, and one dup2(2) would overwrite the source of the next.
Result<UniqueFd> moved_up(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!copy)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot duplicate a descriptor (see the limit 'ulimit -n')");
    return copy;
}

} // namespace

std::string ExitStatus::text() const {
    if (!known)
        return "ended with an unknown status, because the application reaped it";
    if (signal != 0)
        return fmt::format("was ended by signal {}", signal);
    return fmt::format("ended with status {}", code);
}

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments, int input,
                                         int output, int error) {
    std::array<UniqueFd, 3> standard;
    const std::array<int, 3> given = {input, output, error};
    for (std::size_t i = 0; i < given.size(); ++i) {
        RPMEM_ASSIGN(standard[i], moved_up(given[i]));
    }
    FileActions actions;
    Attributes attributes;
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str())); // posix_spawn(3) does not write there
    argv.push_back(nullptr);
    pid_t pid = -1;
    int status = set_up(actions, attributes, standard);
    if (status == 0)
        status = posix_spawnp(&pid, argv[0], actions.get(), attributes.get(), argv.data(), environ);
    if (status != 0)
        return fail_errno(ErrorClass::caller_fault, status, "cannot start '{}'", arguments[0]);
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) {
        const int code = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return fail_errno(ErrorClass::resource_limit, code, "cannot watch the process '{}'",
                          arguments[0]);
    }
    return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), status_(other.status_) {
}

ChildProcess::~ChildProcess() {
    if (pid_ < 0 || status_)
        return;
    // If the signal can be sent through the pidfd, the child was not reaped. Then its number still
    // identifies its process group, which includes the processes that it has started.
    if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) == 0)
        ::kill(-pid_, SIGKILL);
    (void)wait(Deadline(std::chrono::seconds(5)));
}

std::optional<ExitStatus> ChildProcess::wait(const Deadline& deadline) {
    if (status_)
        return status_;
    const Result<bool> ended = wait_readable(pidfd_.get(), deadline);
    if (!ended || !*ended)
        return std::nullopt;
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0)
        status_ = ExitStatus{0, 0, false};
    else if (info.si_code == CLD_EXITED)
        status_ = ExitStatus{info.si_status, 0, true};
    else
        status_ = ExitStatus{0, info.si_status, true};
    return status_;
}

} // namespace rpmem
