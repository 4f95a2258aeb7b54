// SPDX-License-Identifier: BSD-3-Clause
// Runs a part of a test in a child process, for changes that a process cannot undo: the state of
// libibverbs, limits and privileges.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

// Returns what BODY returns in the child, 99 if the child cannot drop its privileges, or -1 if a
// signal ended it.
inline int status_of(int (*body)(), bool as_plain_user = false) {
    const pid_t child = ::fork();
    constexpr unsigned nobody = 65534; // a process that changes to this user loses its capabilities
    if (child == 0 && as_plain_user && ::geteuid() == 0 &&
        (::setgid(nobody) != 0 || ::setuid(nobody) != 0))
        ::_exit(99);
    if (child == 0)
        ::_exit(body());
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
