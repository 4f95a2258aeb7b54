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

constexpr int tries = 5; // because examine_pool() holds the lock for a moment
constexpr std::chrono::milliseconds pause(2);

// Maximum time that a writer waits for readers. A reader gives way only after it has read a piece
// of the pool, perhaps from a slow disk.
constexpr std::chrono::seconds give_way_time(5);

// Returns false if a process has the file open for writing. Then the reader must not keep its lock.
// If it did, a writer could never get the lock while one reader follows another.
bool take_lease(int fd, bool& leased) {
    // The kernel sends SIGIO when a lease is being broken, which would end this process.
    // is_lease_broken() polls instead.
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

// While a lease is being broken, the kernel reports the type to which it must change.
bool is_lease_broken(int fd) { return ::fcntl(fd, F_GETLEASE) == F_UNLCK; }

} // namespace rpmem::target
