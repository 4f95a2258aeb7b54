// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_identity.hpp"

#include "common/base/lasting_identity.hpp"
#include "rpmemd/pools/mapping.hpp"
#include "rpmemd/pools/pool.hpp"

#include <unistd.h>

#include <cerrno>
#include <climits>

namespace rpmem::target {
namespace {

Failure cannot_examine(const PartFile& part) {
    return fail_errno(ErrorClass::resource_limit, errno, "cannot examine part {}",
                      part.path().native());
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
    const auto file = lasting_identity(part.fd());
    if (!file)
        return cannot_examine(part);
    identity.file_system = file->file_system;
    identity.inode = file->inode;
    identity.inode_generation = file->inode_generation;
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
