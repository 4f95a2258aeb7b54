// SPDX-License-Identifier: BSD-3-Clause
// One part of a pool: a locked file or Device DAX.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/pool_header.hpp"
#include "rpmemd/pools/trusted_path.hpp"

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
class OverlappingSyncs;

// True: nobody waits for the pool any more. Empty: never.
using Cancelled = std::function<bool()>;

// Others may neither read nor write what is replicated here.
inline constexpr mode_t default_part_mode = 0600;

// The properties of new parts, which those that exist must have.
struct PartRules {
    mode_t mode = default_part_mode; // if it lets others write, an old part may, too
    bool read_only = false;          // lock them shared with others who only read
    Cancelled cancelled;
    FailureLatch* failures = nullptr; // told of what the medium refuses
    bool unlocked = false;            // only looked at, whoever has it
};

struct Unmap {
    std::size_t size = 0;
    void operator()(std::byte* memory) const;
};
using MappedMemory = std::unique_ptr<std::byte, Unmap>;

class PartFile {
public:
    // Locks the part, to read shared with others who do so. ENOENT, EBUSY: locked by another;
    // EINVAL: neither file nor Device DAX; EACCES: others may write to it, and RULES do not say so,
    // or to a directory on the way.
    static Result<PartFile> open(const std::filesystem::path& path, const PartRules& rules = {});
    // Makes a new file of SIZE bytes, all of them allocated; its mode is subject to the umask.
    // EEXIST, ECANCELED. Nothing is left behind on failure.
    static Result<PartFile> make(const std::filesystem::path& path, std::uint64_t size,
                                 const PartRules& rules = {});

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] bool is_device_dax() const { return kind_ == Kind::device_dax; }
    // The descriptor that open_deep_flush() returned for a Device DAX.
    [[nodiscard]] std::optional<int> deep_flush() const {
        return is_device_dax() ? std::optional(deep_flush_.get()) : std::nullopt;
    }
    [[nodiscard]] std::uint64_t alignment() const { return alignment_; } // of its mappings
    // Of its mappings.
    [[nodiscard]] int protection() const { return read_only_ ? PROT_READ : PROT_READ | PROT_WRITE; }

    // The header page; durable on return. SYNCS: of a part that is in use, where others may be
    // under way.
    [[nodiscard]] Result<PoolHeader> read_header() const;
    [[nodiscard]] Result<> write_header(const PoolHeader& header,
                                        OverlappingSyncs* syncs = nullptr) const;
    // False: pages stay that the kernel uses at the moment, or that somebody maps.
    [[nodiscard]] bool drop_cache() const;

    // Allocates all of a sparse file, so that no store into it can fail later. ECANCELED.
    [[nodiscard]] Result<> allocate(const Cancelled& cancelled = {}) const;
    // Makes the content of the file durable, and a new one's name. Otherwise the peer could read
    // data that an earlier process left in the page cache, and that the next loss of power takes.
    [[nodiscard]] Result<> make_durable() const;
    // The directory that has the file's name (O_PATH): make_durable() syncs it, remove() changes
    // it.
    [[nodiscard]] Result<UniqueFd> open_directory() const;
    // Undoes the work that a session has begun here: removes a file that it made, and clears the
    // header page of another if HAS_HEADER.
    [[nodiscard]] Result<> undo(bool has_header) const;
    // Removes the file; of a Device DAX, clears the header page if HAS_HEADER.
    [[nodiscard]] Result<> remove(bool has_header) const;

private:
    enum class Kind { file, new_file, device_dax }; // new: this session has made it
    PartFile(UniqueFd fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}
    Result<> lock(const ResolvedPath& place) const;
    [[nodiscard]] bool is_at(const Entry& entry) const;
    Result<> examine(mode_t mode);

    UniqueFd fd_;
    UniqueFd deep_flush_;
    std::filesystem::path path_;
    std::uint64_t size_ = 0;
    std::uint64_t alignment_ = 1;
    Kind kind_ = Kind::file;
    bool read_only_ = false;
};

} // namespace rpmem::target
