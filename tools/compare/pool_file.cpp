// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/pool_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::compare {
namespace {

constexpr std::size_t hole_block = 65536; // a block of only zeros becomes a hole

bool is_zero(std::span<const std::byte> data) {
    return std::ranges::all_of(data, [](std::byte byte) { return byte == std::byte{0}; });
}

} // namespace

Failure cannot(const char* what, const std::string& path) {
    return fail_errno(ErrorClass::caller_fault, errno, "cannot {} {}", what, path);
}

Result<PoolFile> PoolFile::open(const std::string& path, Use use) {
    UniqueFd fd(::open(path.c_str(),
                       (use == Use::read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return cannot("open", path);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return invalid("{} is {}; name a file that is an image of the pool, or its pool set file",
                       path, S_ISREG(status.st_mode) ? "empty" : "not a regular file");
    return PoolFile(std::move(fd), path, static_cast<std::uint64_t>(status.st_size));
}

Result<PoolFile> PoolFile::make(const std::string& path, std::uint64_t size) {
    UniqueFd fd(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, own_file));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return cannot("create", path);
    if (!S_ISREG(status.st_mode))
        return invalid("{} is not a regular file", path);
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        return cannot("set the size of", path);
    return PoolFile(std::move(fd), path, size);
}

// Returns 0 if fstat(2) fails.
std::uint64_t PoolFile::current_size() const {
    struct stat status {};
    return ::fstat(fd(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool PoolFile::is_hole(Range range) const {
    const off_t data = ::lseek(fd(), static_cast<off_t>(range.begin), SEEK_DATA);
    if (data < 0) // bytes beyond the end of the file are not a hole
        return errno == ENXIO && current_size() >= range.end;
    return static_cast<std::uint64_t>(data) >= range.end;
}

Result<> PoolFile::read(std::uint64_t offset, std::span<std::byte> buffer) const {
    while (!buffer.empty()) {
        const ssize_t got = ::pread(fd(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot("read", path_);
        if (got == 0)
            return invalid("{} has become shorter while it was read; try again when no other "
                           "process changes it",
                           path_);
        offset += static_cast<std::uint64_t>(got);
        buffer = buffer.subspan(static_cast<std::size_t>(got));
    }
    return {};
}

Result<> PoolFile::write_data(std::uint64_t offset, std::span<const std::byte> data) const {
    while (!data.empty()) {
        const ssize_t put = ::pwrite(fd(), data.data(), data.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return cannot("write to", path_);
        offset += static_cast<std::uint64_t>(put);
        data = data.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

Result<> PoolFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
    while (!data.empty()) {
        const auto block = data.first(std::min(data.size(), hole_block));
        RPMEM_TRY(is_zero(block) ? clear({offset, offset + block.size()})
                                 : write_data(offset, block));
        offset += block.size();
        data = data.subspan(block.size());
    }
    return {};
}

Result<> PoolFile::clear(Range range) const {
    static constexpr std::array<std::byte, hole_block> zeros{};
    if (range.begin >= range.end || is_hole(range))
        return {};
    if (::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(range.begin), static_cast<off_t>(range.size())) == 0)
        return {};
    while (range.size() > 0) {
        const auto block =
            std::span(zeros).first(std::min<std::uint64_t>(range.size(), zeros.size()));
        RPMEM_TRY(write_data(range.begin, block));
        range.begin += block.size();
    }
    return {};
}

Result<> PoolFile::make_durable() const {
    if (::fsync(fd()) != 0)
        return cannot("make durable", path_);
    if (current_size() != size_)
        return invalid("another process has changed the size of {} while it was written; try again",
                       path_);
    return {};
}

} // namespace rpmem::compare
