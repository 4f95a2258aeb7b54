// SPDX-License-Identifier: BSD-3-Clause
// A child process that is started without fork(), watched through a pidfd and always reaped here.
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
    int code;   // of a process that exited
    int signal; // 0, or what ended it
    bool known; // false: somebody else (a wait(-1) of the application) has reaped it
    std::string text() const;
};

class ChildProcess {
public:
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess(); // kills and reaps

    // ARGUMENTS[0] is looked up in PATH. The child has the three descriptors as 0, 1, 2 and no
    // others, its own process group (a Ctrl-C meant for the application must not cut its pools
    // off) and default signal handling.
    static Result<ChildProcess> start(const std::vector<std::string>& arguments, int input,
                                      int output, int error);

    // Nothing: the deadline passed.
    std::optional<ExitStatus> wait(const Deadline& deadline);

private:
    ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;
    UniqueFd pidfd_;
    std::optional<ExitStatus> status_;
};

} // namespace rpmem
