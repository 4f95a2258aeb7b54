// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_lock.hpp"

#include "common/base/deadline.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace rpmem::target {
namespace {

constexpr int tries = 5; // examine_pool(), which only looks, has the lock for a moment
constexpr std::chrono::milliseconds pause(2);

// How long a writer waits for readers: they read a piece of their pool, from a slow disk.
constexpr std::chrono::seconds give_way_time(5);

// False: a process has the file open for writing. One that waits for the lock would wait for ever
// if readers followed each other.
bool take_lease(int fd, bool& leased) {
    // The kernel's signal would end this process; is_lease_broken() asks instead.
    static_cast<void>(::signal(SIGIO, SIG_IGN));
    leased = ::fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    return leased || errno != EAGAIN;
}

} // namespace

UniqueFd open_unless_read(const ResolvedPath& place, int flags) {
    const Deadline deadline(give_way_time);
    UniqueFd fd = open_place(place, flags);
    while (!fd && errno == EWOULDBLOCK && !deadline.passed()) {
        std::this_thread::sleep_for(pause);
        fd = open_place(place, flags);
    }
    return fd;
}

bool lock_to_write(int fd) {
    const Deadline deadline(give_way_time);
    for (int attempt = 1; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++attempt) {
        if (errno != EWOULDBLOCK)
            return false;
        const bool only_readers = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (only_readers)
            ::flock(fd, LOCK_UN);
        errno = EWOULDBLOCK;
        if (only_readers ? deadline.passed() : attempt >= tries)
            return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

bool lock_to_read(int fd, bool& leased) {
    for (int attempt = 0; attempt < tries; ++attempt) {
        if (attempt > 0)
            std::this_thread::sleep_for(pause);
        if (::flock(fd, LOCK_SH | LOCK_NB) == 0) {
            if (take_lease(fd, leased))
                return true;
            ::flock(fd, LOCK_UN);
        } else if (errno != EWOULDBLOCK) {
            return false;
        }
    }
    errno = EWOULDBLOCK;
    return false;
}

// A lease that is being broken is reported as what it is to become.
bool is_lease_broken(int fd) { return ::fcntl(fd, F_GETLEASE) == F_UNLCK; }

} // namespace rpmem::target
