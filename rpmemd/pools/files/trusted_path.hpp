// SPDX-License-Identifier: BSD-3-Clause
// Resolves a path through directories that only root and the daemon's user can change. Each
// directory stays open from its check to its use, so that nobody can exchange it in between.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace rpmem::target {

// A name in an open directory (O_PATH).
struct Entry {
    UniqueFd directory;
    std::string name;
};

struct ResolvedPath {
    Entry entry;               // where the path leads, symbolic links followed
    std::optional<Entry> link; // the path itself, if its last component is a symbolic link
    // The status of the file that ENTRY names, or nothing if there is no file. The caller must
    // check the owner and the mode of the file that it opens.
    std::optional<struct stat> status;

    // The entry that unlink(2) of the path would remove, and that O_CREAT | O_EXCL would create.
    [[nodiscard]] const Entry& named() const { return link ? *link : entry; }
};

// Resolves PATH, which is absolute. The last component need not exist. Fails with the errno values
// of open(2), and with EACCES if another user owns a directory of the path or may write to it. A
// directory with the sticky bit, such as /tmp, may be writable, but the directories and links used
// in it must belong to root or the daemon's user.
Result<ResolvedPath> find_place(const std::filesystem::path& path);

enum class Hidden { allowed, refused };

// Like find_place() for NAME in DIRECTORY, but fails with EXDEV if NAME leads out of DIRECTORY by
// ".." or a symbolic link. With Hidden::refused, also fails with EACCES if a component below
// DIRECTORY begins with ".", even one in the target of a link.
Result<ResolvedPath> resolve_beneath(const std::filesystem::path& directory,
                                     const std::string& name, Hidden hidden = Hidden::allowed);

// Opens the file at PLACE with FLAGS, O_CLOEXEC and O_NOFOLLOW. On failure the result is empty and
// errno is set.
UniqueFd open_place(const ResolvedPath& place, int flags);

// Makes created and removed names in the directory of ENTRY durable, unless this user may not read
// the directory. PATH is for error texts.
Result<> sync_directory(const Entry& entry, const std::filesystem::path& path);

} // namespace rpmem::target
