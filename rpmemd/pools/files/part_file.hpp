// SPDX-License-Identifier: BSD-3-Clause
// A part of a pool: a file or a Device DAX, open and usually locked.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace rpmem::target {

class FailureLatch;
class SyncTracker;

// Returns whether the client has disconnected, so that nobody waits for the pool any more. An empty
// function means that the work is never cancelled.
using Cancelled = std::function<bool()>;

// How a part is created or opened.
struct PartRules {
    // Mode of a new part. An existing part may be writable for the group or for everybody only if
    // this mode is, too.
    mode_t mode = default_part_mode;
    // Take a shared lock, map the part read-only, and give way to writers: see is_wanted().
    bool read_only = false;
    Cancelled cancelled;
    FailureLatch* failures = nullptr; // receives the failures of the medium
    bool unlocked = false;            // do not lock: only examine a part that others may use
};

struct Unmap {
    std::size_t size = 0;
    void operator()(std::byte* memory) const;
};
using MappedMemory = std::unique_ptr<std::byte, Unmap>;

class PartFile {
public:
    // Opens and locks the part. A writer waits at most 5 s for readers, which give way.
    // Fails with
    //   ENOENT  there is no such part, or it was removed meanwhile
    //   EBUSY   another process has locked it or, with RULES.read_only, has it open for writing
    //   EINVAL  it is neither a regular file nor a usable Device DAX, or the path is invalid
    //   EACCES  this user may not open it, or other users may change it or a directory of its path
    // and with the errno value of the system for lack of resources.
    static Result<PartFile> open(const std::filesystem::path& path, const PartRules& rules = {});
    // Creates and locks a file of SIZE bytes, and allocates all of them. Its mode is subject to the
    // umask. Fails with EEXIST, ECANCELED, ENOSPC, and like open(). Removes the file again on
    // failure.
    static Result<PartFile> make(const std::filesystem::path& path, std::uint64_t size,
                                 const PartRules& rules = {});

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    // When the file was last changed before it was opened (ctime). 0 for a Device DAX.
    [[nodiscard]] std::chrono::nanoseconds changed() const { return changed_; }
    // When its bytes were last modified before it was opened (mtime). 0 for a Device DAX.
    [[nodiscard]] std::chrono::nanoseconds modified_before() const { return modified_before_; }
    // When its bytes were last modified. 0 for a Device DAX, and if that is unknown.
    [[nodiscard]] std::chrono::nanoseconds modified() const;
    [[nodiscard]] bool is_device_dax() const { return kind_ == Kind::device_dax; }
    // Returns what open_deep_flush() returned for a Device DAX, and nothing for a file.
    [[nodiscard]] std::optional<int> deep_flush() const {
        return is_device_dax() ? std::optional(deep_flush_.get()) : std::nullopt;
    }
    // Returns whether a process waits to open the part for writing. If so, close this part, which
    // was opened read-only. The kernel reports the writer by a lease, see part_lock.hpp. Without
    // leases this returns false, and the writer gets EBUSY.
    [[nodiscard]] bool is_wanted() const;
    // The alignment and the protection for a mapping of the part.
    [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
    [[nodiscard]] int protection() const { return read_only_ ? PROT_READ : PROT_READ | PROT_WRITE; }

    // Fails with ENODATA if the file is shorter than a header.
    [[nodiscard]] Result<PoolHeader> read_header() const;
    // Writes the header page, durable on return. If the part is in use, pass its SYNCS, because
    // other syncs of it may be in progress.
    [[nodiscard]] Result<> write_header(const PoolHeader& header,
                                        SyncTracker* syncs = nullptr) const;
    // Drops the pages of the file from the page cache. Returns false if some remain, because the
    // kernel is using them or a process maps them.
    [[nodiscard]] bool drop_cache() const;

    // Allocates all blocks of a sparse file, so that no later store can fail for lack of space.
    // Fails with ENOSPC and ECANCELED.
    [[nodiscard]] Result<> allocate(const Cancelled& cancelled = {}) const;
    // Makes the contents of the file durable, and the name of a new file. Otherwise the peer could
    // read data that an earlier process left in the page cache, and lose it in a power failure.
    [[nodiscard]] Result<> make_durable() const;
    // Opens the directory that contains the name of the file (O_PATH). make_durable() syncs this
    // directory, and remove() changes it.
    [[nodiscard]] Result<UniqueFd> open_directory() const;
    // Undoes the creation of a pool: removes a file that make() created. In any other part, clears
    // the header page if HAS_HEADER.
    [[nodiscard]] Result<> undo(bool has_header) const;
    // Removes the file. Clears the header page of a Device DAX if HAS_HEADER.
    [[nodiscard]] Result<> remove(bool has_header) const;

private:
    enum class Kind { file, new_file, device_dax }; // make() created a new_file
    PartFile(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}
    Result<> lock(const ResolvedPath& place);
    [[nodiscard]] bool is_at(const Entry& entry) const;
    Result<> examine(mode_t mode);

    UniqueFd fd_;
    UniqueFd deep_flush_;
    std::filesystem::path path_;
    std::uint64_t size_ = 0;
    std::chrono::nanoseconds changed_{};         // since the epoch of Unix
    std::chrono::nanoseconds modified_before_{}; // likewise
    std::uint64_t alignment_ = 1;
    Kind kind_ = Kind::file;
    bool read_only_ = false;
    bool is_leased_ = false;
};

} // namespace rpmem::target
