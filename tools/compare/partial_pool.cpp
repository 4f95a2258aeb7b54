// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/partial_pool.hpp"

#include "common/base/io.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace rpmem::compare {
namespace {

// Follows symbolic links, because rename(2) would replace a link.
std::string resolved(const std::string& path) {
    std::error_code error;
    const auto canonical = std::filesystem::weakly_canonical(path, error);
    return error ? path : canonical.native();
}

// A rename is durable only after its directory has been synced.
Result<> sync_directory_of(const std::string& path) {
    const auto parent = std::filesystem::absolute(path).parent_path();
    const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return cannot("make names durable in", parent.native());
    return {};
}

Result<> rename_durably(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0)
        return cannot("rename", fmt::format("{} to {}", from, to));
    return sync_directory_of(to);
}

// Opens and locks PATH. Then checks that PATH still is this file, because another process may have
// renamed it to its final name before it released the lock.
Result<UniqueFd> open_locked(const std::string& path) {
    UniqueFd fd(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, own_file));
    struct stat opened {};
    if (!fd || ::fstat(fd.get(), &opened) != 0)
        return cannot("make", path);
    if (!S_ISREG(opened.st_mode))
        return invalid("{} is not a regular file", path);
    const bool is_locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    if (!is_locked && errno != EWOULDBLOCK)
        return cannot("lock", path);
    if (!is_locked || !is_file_at(fd.get(), AT_FDCWD, path))
        return fail(ErrorClass::caller_fault, EBUSY,
                    "another rpmemctl writes to {}; try again when it has ended", path);
    return fd;
}

// Copies the data of FROM, except its holes, to the same offsets of TO.
Result<> copy_data(const PoolFile& from, const PoolFile& to) {
    std::array<std::byte, 65536> buffer;
    for (std::uint64_t at = 0; at < from.size(); at += buffer.size()) {
        const auto part =
            std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), from.size() - at));
        if (from.is_hole({at, at + part.size()}))
            continue;
        RPMEM_TRY(from.read(at, part));
        RPMEM_TRY(to.write(at, part));
    }
    return {};
}

// Copies FROM to the empty file FD, whose path is TO. Copies no data if the file system can share
// blocks.
Result<> copy_image(const std::string& from, int fd, const std::string& to) {
    RPMEM_ASSIGN(const auto image, PoolFile::open(from, PoolFile::Use::read));
    const UniqueFd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (source && ::ioctl(fd, FICLONE, source.get()) == 0)
        return {};
    RPMEM_ASSIGN(const auto copy, PoolFile::make(to, image.size()));
    return copy_data(image, copy);
}

} // namespace

std::string partial_name(const std::string& path) {
    return resolved(path) + std::string(partial_suffix);
}

Result<PartialPool> PartialPool::begin_image(const std::string& path, std::uint64_t size) {
    const std::string whole = resolved(path);
    const std::string partial = whole + std::string(partial_suffix);
    struct stat old {};
    struct stat begun {};
    const bool exists = ::stat(whole.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return invalid("{} is not a regular file", path);
    RPMEM_ASSIGN(auto lock, open_locked(partial));
    if (::fstat(lock.get(), &begun) != 0)
        return cannot("examine", partial);
    if (exists && begun.st_size == 0) {
        if (::fchmod(lock.get(), old.st_mode & 07777) != 0)
            return cannot("set the mode of", partial);
        if (old.st_size > 0)
            RPMEM_TRY(copy_image(whole, lock.get(), partial));
    }
    RPMEM_ASSIGN(auto file, PoolFile::make(partial, size));
    return PartialPool(LocalPool::image(std::move(file)), std::move(lock), whole);
}

Result<PartialPool> PartialPool::begin(const std::string& path, std::uint64_t size) {
    RPMEM_ASSIGN(auto set, LocalPool::open_pool_set(path, PoolFile::Use::write,
                                                    LocalPool::Interrupted::accepted));
    if (!set)
        return begin_image(path, size);
    std::string whole = set->first_part();
    return PartialPool(std::move(*set), UniqueFd(), std::move(whole));
}

Result<> PartialPool::mark() const {
    if (!pool_.is_pool_set() || ::access(whole_.c_str(), F_OK) != 0)
        return {};
    return rename_durably(whole_, partial_);
}

Result<> PartialPool::commit() const {
    RPMEM_TRY(pool_.make_durable());
    if (::access(partial_.c_str(), F_OK) != 0) // the parts were equal, so none was renamed
        return {};
    return rename_durably(partial_, whole_);
}

} // namespace rpmem::compare
