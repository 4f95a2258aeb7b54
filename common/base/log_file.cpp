// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace rpmem {
namespace {

constexpr mode_t log_file_mode = 0640;

Failure cannot_open(const std::string& path, int code, const char* why) {
    return fail(ErrorClass::caller_fault, code, "cannot open the log file {}: {}", path, why);
}

Failure cannot_open(const std::string& path) {
    if (errno == ELOOP)
        return cannot_open(path, ELOOP,
                           "it is a symbolic link, which is not followed; name the file itself");
    if (errno == ENOENT)
        return cannot_open(path, ENOENT,
                           "its directory does not exist; make it, or name another file");
    return fail_errno(ErrorClass::caller_fault, errno, "cannot open the log file {}", path);
}

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

// Returns whether another user may have placed FILE. In a shared directory, others can make a hard
// link to a file of this user, and the log would be appended to that file.
bool is_put_by_others(const struct stat& directory, const struct stat& file) {
    const bool is_shared =
        (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0 || !is_trusted(directory.st_uid);
    return is_shared && S_ISREG(file.st_mode) && (!is_trusted(file.st_uid) || file.st_nlink > 1);
}

} // namespace

Result<UniqueFd> open_log_file(const std::string& path) {
    const std::filesystem::path whole(path);
    const std::string parent = whole.has_parent_path() ? whole.parent_path().native() : ".";
    const UniqueFd directory(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat of_directory {};
    if (!directory || ::fstat(directory.get(), &of_directory) != 0)
        return cannot_open(path);
    // O_NONBLOCK keeps open(2) from blocking on a FIFO without a reader.
    UniqueFd file(
        ::openat(directory.get(), whole.filename().c_str(),
                 O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                 log_file_mode));
    struct stat of_file {};
    if (!file || ::fstat(file.get(), &of_file) != 0)
        return cannot_open(path);
    if (!S_ISREG(of_file.st_mode) && !S_ISCHR(of_file.st_mode))
        return cannot_open(path, EINVAL, "it is not a regular file (a FIFO, or a socket?)");
    if (is_put_by_others(of_directory, of_file))
        return cannot_open(path, EACCES,
                           "others may write to its directory, and it belongs to another user or "
                           "has a second hard link; name a file in a directory of your own");
    return file;
}

} // namespace rpmem
