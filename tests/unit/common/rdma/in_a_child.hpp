// SPDX-License-Identifier: BSD-3-Clause
// Tests in a process of their own, for what a process cannot take back.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

// The exit status that BODY returns; -1 if it did not get that far.
inline int status_of(int (*body)(), bool as_plain_user = false) {
    const pid_t child = ::fork();
    constexpr unsigned nobody = 65534; // who has no capabilities
    if (child == 0 && as_plain_user && ::geteuid() == 0 &&
        (::setgid(nobody) != 0 || ::setuid(nobody) != 0))
        ::_exit(99);
    if (child == 0)
        ::_exit(body());
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
