// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/lock_holder.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

namespace rpmem::target {
namespace {

struct Lock {
    std::string mode; // READ or WRITE
    pid_t pid = 0;
    std::string device; // major:minor of the file system, hexadecimal
    std::uint64_t inode = 0;
};

// Parses a line such as "12: FLOCK  ADVISORY  WRITE 708 08:01:7602 0 EOF", see proc(5). Returns
// nothing for a process that waits for a lock, which has "->" before the kind.
std::optional<Lock> parse(const std::string& line) {
    std::istringstream fields(line);
    std::string number;
    std::string kind;
    std::string advisory;
    std::string file;
    Lock lock;
    if (!(fields >> number >> kind >> advisory >> lock.mode >> lock.pid >> file) || kind != "FLOCK")
        return std::nullopt;
    const auto colon = file.rfind(':');
    if (colon == std::string::npos)
        return std::nullopt;
    lock.device = file.substr(0, colon);
    std::istringstream digits(file.substr(colon + 1));
    return digits >> lock.inode ? std::optional(lock) : std::nullopt;
}

// Returns the device of the file system as /proc/locks names it, or an empty text. On Btrfs it
// differs from st_dev of stat(2), so the function locks the directory and reads the line of that
// lock.
std::string device_of(int directory) {
    if (::flock(directory, LOCK_SH | LOCK_NB) != 0)
        return {};
    std::ifstream lines(fmt::format("/proc/self/fdinfo/{}", directory));
    std::string device;
    constexpr std::string_view prefix = "lock:";
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(prefix))
            if (const auto lock = parse(line.substr(prefix.size())))
                device = lock->device;
    ::flock(directory, LOCK_UN);
    return device;
}

} // namespace

Result<std::optional<pid_t>> exclusive_holder(int file, int directory) {
    if (::flock(file, LOCK_SH | LOCK_NB) == 0) {
        ::flock(file, LOCK_UN);
        return std::nullopt;
    }
    struct stat status {};
    const std::string device = device_of(directory);
    if (!device.empty() && ::fstat(file, &status) == 0) {
        std::ifstream lines("/proc/locks");
        for (std::string line; std::getline(lines, line);)
            if (const auto lock = parse(line); lock && lock->mode == "WRITE" && lock->pid > 0 &&
                                               lock->inode == status.st_ino &&
                                               lock->device == device)
                return std::optional(lock->pid);
    }
    return fail(ErrorClass::resource_limit, EBUSY,
                "the process that serves the session cannot be found in /proc/locks: it is on "
                "another machine or in another container, or /proc is not mounted");
}

} // namespace rpmem::target
