// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/state_file.hpp"

#include "common/base/io.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace rpmem::target {
namespace {

constexpr mode_t own_file = 0600;
constexpr int flags = O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

Failure cannot(const char* what, const std::string& path) {
    return fail_errno(ErrorClass::resource_limit, errno, "cannot {} {}", what, path);
}

Result<> check_own(int fd, const std::string& path) {
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return cannot("examine", path);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} is no regular file of this user; remove it", path);
    return check_ownership(fd, status, path);
}

} // namespace

Result<StateFile> StateFile::make(const StateDirectory& directory, const std::string& name) {
    StateFile file(UniqueFd(::openat(directory.fd(), name.c_str(),
                                     O_RDWR | O_CREAT | O_EXCL | flags, own_file)),
                   directory.path_of(name));
    if (!file.fd_)
        return cannot("make", file.path_);
    if (const int code = ::posix_fallocate(file.fd_.get(), 0, state_file_size); code != 0) {
        static_cast<void>(::unlinkat(directory.fd(), name.c_str(), 0));
        errno = code;
        return cannot("allocate", file.path_);
    }
    return file;
}

Result<StateFile> StateFile::open(const StateDirectory& directory, const std::string& name) {
    UniqueFd fd(::openat(directory.fd(), name.c_str(), O_RDWR | flags));
    if (!fd && errno != ENOENT) // a file may be readable even if it cannot be written
        fd.reset(::openat(directory.fd(), name.c_str(), O_RDONLY | flags));
    StateFile file(std::move(fd), directory.path_of(name));
    if (!file.fd_)
        return cannot("open", file.path_);
    RPMEM_TRY(check_own(file.fd_.get(), file.path_));
    return file;
}

bool StateFile::lock() const { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0; }

// Takes a shared lock, so that this process never appears as the holder: see fence().
bool StateFile::is_unlocked() const { return ::flock(fd_.get(), LOCK_SH | LOCK_NB) == 0; }

bool StateFile::is_at(const StateDirectory& directory, const std::string& name) const {
    return is_file_at(fd_.get(), directory.fd(), name);
}

Result<std::string> StateFile::contents() const {
    std::string bytes(state_file_size, '\0');
    std::size_t length = 0;
    while (length < bytes.size()) {
        const ssize_t got = ::pread(fd_.get(), bytes.data() + length, bytes.size() - length,
                                    static_cast<off_t>(length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot("read", path_);
        if (got == 0)
            break;
        length += static_cast<std::size_t>(got);
    }
    bytes.resize(length);
    return bytes;
}

template <typename Record>
Result<std::optional<Record>> StateFile::read() {
    RPMEM_ASSIGN(const auto bytes, contents());
    RPMEM_ASSIGN(auto newest, in_context(path_, decode_file<Record>(bytes)));
    if (!newest)
        return std::nullopt;
    sequence_ = newest->sequence;
    slot_ = newest->slot;
    return std::move(newest->record);
}

// Makes the other slot the newest again. Otherwise a later reader would get from the cache a record
// that was never made durable.
void StateFile::clear(std::size_t slot) const {
    const Slot blank{};
    if (::pwrite(fd_.get(), blank.data(), blank.size(), static_cast<off_t>(slot * slot_size)) > 0)
        static_cast<void>(::fdatasync(fd_.get()));
}

template <typename Record>
Result<> StateFile::write(const Record& record) {
    const std::size_t slot = 1 - slot_;
    RPMEM_ASSIGN(const auto bytes, encode_slot(record, sequence_ + 1));
    const auto put =
        ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(slot * slot_size));
    if (put != static_cast<ssize_t>(bytes.size())) {
        errno = put < 0 ? errno : ENOSPC;
        return cannot("write to", path_);
    }
    if (::fdatasync(fd_.get()) != 0) {
        const auto failure = cannot("make durable", path_);
        clear(slot);
        return failure;
    }
    slot_ = slot;
    ++sequence_;
    return {};
}

void StateFile::touch() const { static_cast<void>(::futimens(fd_.get(), nullptr)); }

std::int64_t StateFile::last_seen() const {
    struct stat status {};
    return ::fstat(fd_.get(), &status) == 0 ? status.st_mtim.tv_sec : 0;
}

template Result<> StateFile::write(const SessionRecord&);
template Result<> StateFile::write(const PoolRecord&);
template Result<std::optional<SessionRecord>> StateFile::read();
template Result<std::optional<PoolRecord>> StateFile::read();

} // namespace rpmem::target
