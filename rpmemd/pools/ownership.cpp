// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/ownership.hpp"

#include <endian.h>
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

// In a user namespace, stat(2) shows the overflow number for all owners that have none there; see
// user_namespaces(7). Without /proc no number counts as unmapped: then nobody is trusted for it.
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

std::optional<std::uint64_t> find_unmapped_user() {
    std::uint64_t overflow = 0;
    if (!(std::ifstream("/proc/sys/kernel/overflowuid") >> overflow) ||
        !find_overflow_unmapped(overflow))
        return std::nullopt;
    return overflow;
}

// The process asks once, because a confined session may not open these files. A part's path is
// checked before a session is confined, and a process with threads cannot change its namespace.
bool is_unmapped(uid_t user) {
    static const std::optional<std::uint64_t> unmapped = find_unmapped_user();
    return user == unmapped;
}

// The owner of a file may exchange or change it at any time: if that is somebody else, data that
// the daemon reads from it means nothing, and data that it writes may end up anywhere.
bool is_trusted_owner(uid_t owner) { return owner == 0 || owner == geteuid(); }

// Directories of the system have no owner in a user namespace. Its files must have one.
bool is_trusted_owner(const struct stat& status) {
    return is_trusted_owner(status.st_uid) ||
           (S_ISDIR(status.st_mode) && is_unmapped(status.st_uid));
}

// No text recommends to change the owner of a directory: it may be one of the system.
std::string remedy_for_owner(const struct stat& status, const std::string& path) {
    if (S_ISDIR(status.st_mode))
        return fmt::format("use a directory that, like all above it, belongs to root or to this "
                           "user ({})",
                           geteuid());
    return fmt::format("to use it, give it to this user: chown {} {}", geteuid(), path);
}

// Whom an entry of an ACL lets write; nobody if it is root, the daemon's user or the owner.
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

// The ACL of a file, as the kernel gives it; empty if there is none, or it cannot be read.
std::vector<std::byte> read_acl(int fd) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd); // for O_PATH, unlike fgetxattr
    std::vector<std::byte> acl(XATTR_SIZE_MAX);
    const auto length = getxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, acl.data(), acl.size());
    acl.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return acl;
}

bool has_proc() { return access("/proc/self/fd", F_OK) == 0; }

// The first writer of a file whose mode lets its group write. With an ACL that bit stands for the
// mask: the most that anybody named in the ACL has, who may be the daemon's user alone.
std::optional<std::string> writer_by_group(int fd, const struct stat& status) {
    const auto acl = read_acl(fd);
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
                "take that away: chmod go-w {}",
                *writer, path, status.st_mode & 07777, path);
}

} // namespace rpmem::target
