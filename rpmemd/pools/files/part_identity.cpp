// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_identity.hpp"

#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/pool.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace rpmem::target {
namespace {

Failure cannot_examine(const PartFile& part) {
    return fail_errno(ErrorClass::resource_limit, errno, "cannot examine part {}",
                      part.path().native());
}

// Returns 0 on file systems without generations, such as tmpfs and NFS, which report ENOTTY.
std::uint64_t generation_of(const PartFile& part) {
    // FS_IOC_GETVERSION is declared with long, but the kernel writes an int.
    unsigned int generation[2] = {};
    return ::ioctl(part.fd(), FS_IOC_GETVERSION, generation) == 0 ? generation[0] : 0;
}

} // namespace

Result<PartIdentity> identify(const PartFile& part) {
    const std::string link = fmt::format("/proc/self/fd/{}", part.fd());
    char path[PATH_MAX];
    const ssize_t length = ::readlink(link.c_str(), path, sizeof(path));
    // Without /proc, as with ChrootDirectory of sshd, use the path in the pool set file. The inode
    // still distinguishes the parts.
    if (length < 0 && errno != ENOENT)
        return cannot_examine(part);
    PartIdentity identity{.path = length < 0 ? part.path().native()
                                             : std::string(path, static_cast<std::size_t>(length))};
    if (part.is_device_dax())
        return identity;
    struct stat status {};
    struct statfs file_system {};
    if (::fstat(part.fd(), &status) != 0 || ::fstatfs(part.fd(), &file_system) != 0)
        return cannot_examine(part);
    identity.inode = status.st_ino;
    // A reboot may change st_dev. It does not change f_fsid on most file systems, which derive it
    // from their UUID.
    static_assert(sizeof(file_system.f_fsid) == sizeof(identity.file_system));
    std::memcpy(&identity.file_system, &file_system.f_fsid, sizeof(identity.file_system));
    if (identity.file_system == 0)
        identity.file_system = status.st_dev;
    identity.inode_generation = generation_of(part);
    return identity;
}

Result<std::vector<PartIdentity>> Pool::identify_parts() const {
    std::vector<PartIdentity> parts;
    for (const PartFile& part : mapped_->parts) {
        RPMEM_ASSIGN(auto identity, identify(part));
        parts.push_back(std::move(identity));
    }
    return parts;
}

PoolAttribute Pool::attribute() const {
    return PoolAttribute(mapped_->parts.front(), &mapped_->medium.syncs_of(0));
}

std::vector<PoolHeader> Pool::lasting_headers() const {
    auto headers = mapped_->headers;
    for (PoolHeader& header : headers) {
        header.shutdown_state = {};
        header.checksum = 0;
    }
    return headers;
}

} // namespace rpmem::target
