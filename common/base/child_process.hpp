// SPDX-License-Identifier: BSD-3-Clause
// A child process that is started without fork(2). A pidfd reports its end. The destructor kills
// the process and reaps it.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace rpmem {

struct ExitStatus {
    int code;   // exit status
    int signal; // the signal that ended the process; 0 if it exited
    bool known; // false if the application reaped the process, for example by wait(-1)
    std::string text() const;
};

class ChildProcess {
public:
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess(); // kills and reaps

    // Starts ARGUMENTS[0], which is looked up in PATH. The child inherits the three descriptors as
    // 0, 1 and 2, and no others. It has default signal handling and a process group of its own,
    // because a Ctrl-C in the application's terminal must not end its sessions.
    static Result<ChildProcess> start(const std::vector<std::string>& arguments, int input,
                                      int output, int error);

    // Returns nothing if DEADLINE passes before the child ends.
    std::optional<ExitStatus> wait(const Deadline& deadline);

private:
    ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;
    UniqueFd pidfd_;
    std::optional<ExitStatus> status_;
};

} // namespace rpmem
