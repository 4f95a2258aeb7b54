// SPDX-License-Identifier: BSD-3-Clause
// Finding a file by its path, through directories that nobody but root and the daemon's user can
// change. Each directory on the way is held open from its check to its use, so that none can be
// exchanged in between.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace rpmem::target {

// A name in a directory that is held open (O_PATH).
struct Entry {
    UniqueFd directory;
    std::string name;
};

struct ResolvedPath {
    Entry entry;               // the end of the path, symbolic links followed
    std::optional<Entry> link; // the path itself, if its last component is a symbolic link
    // Of the file that ENTRY names; empty if there is none. The caller has to check owner and mode
    // of the file that it opens in the end.
    std::optional<struct stat> status;

    // The entry that unlink(2) of the path would remove, and that O_CREAT | O_EXCL would make.
    [[nodiscard]] const Entry& named() const { return link ? *link : entry; }
};

// PATH is absolute. ENOENT, ENOTDIR, ELOOP, ...; EACCES for a directory that others own or may
// write to. In one with the sticky bit, as /tmp, others may write, but what is used there must
// belong to root or the daemon's user.
Result<ResolvedPath> find_place(const std::filesystem::path& path);

enum class Hidden { allowed, refused };

// NAME in DIRECTORY. EXDEV if it leads out by ".." or a symbolic link. With Hidden::refused, EACCES
// if a component below DIRECTORY begins with "."; also one that a link leads through.
Result<ResolvedPath> resolve_beneath(const std::filesystem::path& directory,
                                     const std::string& name, Hidden hidden = Hidden::allowed);

// Opens what PLACE leads to. FLAGS get O_CLOEXEC and O_NOFOLLOW. -1 and errno.
UniqueFd open_place(const ResolvedPath& place, int flags);

// Makes a change of names in the directory of ENTRY durable. PATH is for messages.
Result<> sync_directory(const Entry& entry, const std::filesystem::path& path);

} // namespace rpmem::target
