// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/lasting_identity.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstring>

namespace rpmem {
namespace {

std::uint64_t generation_of(int fd) {
    // FS_IOC_GETVERSION is declared with long, but the kernel writes an int.
    unsigned int generation[2] = {};
    return ::ioctl(fd, FS_IOC_GETVERSION, generation) == 0 ? generation[0] : 0;
}

} // namespace

std::optional<LastingIdentity> lasting_identity(int fd) {
    struct stat status {};
    struct statfs file_system {};
    if (::fstat(fd, &status) != 0 || ::fstatfs(fd, &file_system) != 0)
        return std::nullopt;
    LastingIdentity identity{.inode = status.st_ino, .inode_generation = generation_of(fd)};
    // A reboot may change st_dev. It does not change f_fsid on most file systems, which derive it
    // from their UUID.
    static_assert(sizeof(file_system.f_fsid) == sizeof(identity.file_system));
    std::memcpy(&identity.file_system, &file_system.f_fsid, sizeof(identity.file_system));
    if (identity.file_system == 0)
        identity.file_system = status.st_dev;
    return identity;
}

} // namespace rpmem
