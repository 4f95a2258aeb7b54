// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/owner_and_mode.hpp"

#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/private_group.hpp"

#include <endian.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

namespace rpmem::target {
namespace {

// In a user namespace, stat(2) reports the overflow UID for all owners that are not mapped; see
// user_namespaces(7). Returns whether the UID OVERFLOW is unmapped. Returns false without /proc, so
// that no owner is accepted as unmapped.
bool find_overflow_unmapped(std::uint64_t overflow) {
    std::ifstream map("/proc/self/uid_map");
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t count = 0;
    bool is_known = false;
    while (map >> inside >> outside >> count) {
        is_known = true;
        if (overflow >= inside && overflow - inside < count)
            return false;
    }
    return is_known || map.eof();
}

// Returns the UID that stands for unmapped owners, or nothing if all are mapped.
std::optional<std::uint64_t> find_unmapped_user() {
    std::uint64_t overflow = 0;
    if (!(std::ifstream("/proc/sys/kernel/overflowuid") >> overflow) ||
        !find_overflow_unmapped(overflow))
        return std::nullopt;
    return overflow;
}

// Reads the files at the first call, which comes before the session is confined: a confined session
// cannot open them. The result stays valid, because a process with threads cannot change its user
// namespace.
bool is_unmapped(uid_t user) {
    static const std::optional<std::uint64_t> unmapped = find_unmapped_user();
    return user == unmapped;
}

// The owner of a file can change or exchange it at any time. If another user owns it, the daemon
// can neither trust its data nor know where its own writes end up.
bool is_trusted_owner(uid_t owner) { return owner == 0 || owner == geteuid(); }

// Directories of the system have an unmapped owner in a user namespace. Files of a pool must have a
// mapped one.
bool is_trusted_owner(const struct stat& status) {
    return is_trusted_owner(status.st_uid) ||
           (S_ISDIR(status.st_mode) && is_unmapped(status.st_uid));
}

// Does not suggest chown(1) for a directory, because it may be one of the system.
std::string remedy_for_owner(const struct stat& status, const std::string& path) {
    if (S_ISDIR(status.st_mode))
        return fmt::format("use a directory that, like all above it, belongs to root or to this "
                           "user ({})",
                           geteuid());
    return fmt::format("to use it, give it to this user: chown {} {}", geteuid(), path);
}

// Returns the user or group whom an entry of an ACL lets write. Returns nothing for root, the
// daemon's user and the owner.
std::optional<std::string> writer_of(const posix_acl_xattr_entry& entry) {
    if ((le16toh(entry.e_perm) & ACL_WRITE) == 0)
        return std::nullopt;
    const auto id = le32toh(entry.e_id);
    switch (le16toh(entry.e_tag)) {
    case ACL_USER:
        if (is_trusted_owner(id))
            return std::nullopt;
        return fmt::format("user {} (by an ACL)", id);
    case ACL_GROUP:
        return fmt::format("group {} (by an ACL)", id);
    case ACL_GROUP_OBJ:
        return "its group (by an ACL)";
    default:
        return std::nullopt;
    }
}

// Returns the ACL of a file in the format of the kernel. Empty if there is none, or if it cannot be
// read.
std::vector<std::byte> read_acl(int fd) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd); // fgetxattr(2) refuses O_PATH
    std::vector<std::byte> acl(XATTR_SIZE_MAX);
    const auto length = getxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, acl.data(), acl.size());
    acl.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return acl;
}

// The first call comes before the session is confined, like that of is_unmapped().
bool has_proc() {
    static const bool found = access("/proc/self/fd", F_OK) == 0;
    return found;
}

// Returns the first writer of a file whose mode lets its group write. With an ACL, the group bits
// are only the mask, the upper limit of all named entries. Those may name just the daemon's user.
// Without an ACL, the group may be the private one of the daemon's user.
std::optional<std::string> writer_by_group(int fd, const struct stat& status) {
    const auto acl = read_acl(fd);
    if (acl.size() <= sizeof(posix_acl_xattr_header) && has_proc() &&
        status.st_gid == own_private_group())
        return std::nullopt;
    if (acl.size() <= sizeof(posix_acl_xattr_header))
        return fmt::format("group {}{}", status.st_gid,
                           has_proc() ? "" : " (or its ACL, which cannot be read without /proc)");
    std::span rest(acl);
    rest = rest.subspan(sizeof(posix_acl_xattr_header));
    for (posix_acl_xattr_entry entry{}; rest.size() >= sizeof(entry);
         rest = rest.subspan(sizeof(entry))) {
        std::memcpy(&entry, rest.data(), sizeof(entry));
        if (auto writer = writer_of(entry))
            return writer;
    }
    return std::nullopt;
}

} // namespace

Result<> check_ownership(int fd, const struct stat& status, const std::string& path,
                         mode_t tolerated) {
    if (is_unmapped(geteuid()))
        return fail(ErrorClass::caller_fault, EACCES,
                    "rpmemd runs in a user namespace that does not map its user, so the owner of "
                    "{} cannot be told from other users; map the user (/proc/self/uid_map, unshare "
                    "--map-current-user)",
                    path);
    if (!is_trusted_owner(status))
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} belongs to user {}, who could change it at any time; {}", path,
                    status.st_uid, remedy_for_owner(status, path));
    const mode_t writable = status.st_mode & ~tolerated;
    std::optional<std::string> writer;
    if ((writable & S_IWOTH) != 0)
        writer = "everybody";
    else if ((writable & S_IWGRP) != 0)
        writer = writer_by_group(fd, status);
    if (!writer)
        return {};
    return fail(ErrorClass::caller_fault, EACCES,
                "{} may write to {} (mode {:04o}), and could change it at any time; to use it, "
                "forbid that: chmod go-w {}",
                *writer, path, status.st_mode & 07777, path);
}

bool is_refused_by_mode(const std::string& path, mode_t tolerated) {
    const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    return fd && fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           is_trusted_owner(status.st_uid) && !is_unmapped(geteuid()) &&
           !check_ownership(fd.get(), status, path, tolerated);
}

} // namespace rpmem::target
