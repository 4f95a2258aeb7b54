// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/file_holes.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace rpmem {

// In these, the first store to a page of a hole allocates its block, or reserves it, before the
// program goes on. lseek(2) sees that.
bool knows_mapped_data(std::uint64_t type) {
    constexpr std::uint64_t xfs = 0x58465342; // not in <linux/magic.h> of Debian 12
    return type == EXT4_SUPER_MAGIC || type == xfs || type == BTRFS_SUPER_MAGIC ||
           type == TMPFS_MAGIC;
}

bool has_reliable_holes(int fd) {
    struct stat status {};
    struct statfs system {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ::fstatfs(fd, &system) == 0 &&
           knows_mapped_data(static_cast<std::uint32_t>(system.f_type));
}

std::uint64_t hole_at(int fd, std::uint64_t offset, std::uint64_t size) {
    const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
    if (data >= 0)
        return std::min(static_cast<std::uint64_t>(data) - offset, size);
    // No data follows, but the file may end within the range.
    struct stat status {};
    if (errno != ENXIO || ::fstat(fd, &status) != 0)
        return 0;
    const auto end = static_cast<std::uint64_t>(status.st_size);
    return end > offset ? std::min(end - offset, size) : 0;
}

} // namespace rpmem
