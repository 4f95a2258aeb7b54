// SPDX-License-Identifier: BSD-3-Clause
// The directories of a pool set. The parts of such a pool are the files 000000.pmem, 000001.pmem
// and so on, numbered in the order of the pool across all directories. The pool grows by new files.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace rpmem::target {

struct PlannedPart {
    std::filesystem::path path;
    std::uint64_t size;
};

// Returns whether POOL_SET names directories. If it does, fails with EINVAL if it also names files,
// lacks OPTION SINGLEHDR, or has the size AUTO for a directory.
Result<bool> uses_directories(const PoolSet& pool_set);

class PartDirectories {
public:
    // Lists the directories. Fails with EINVAL if a number occurs twice or is too large, or if the
    // files of a directory exceed its size in the pool set file. Also fails like readdir(3).
    static Result<PartDirectories> scan(const PoolSet& pool_set);

    // Fails with ENOENT if there is no file.
    [[nodiscard]] Result<> check_not_empty() const;
    // Fails with ENOENT if a number is missing.
    [[nodiscard]] Result<> check_complete() const;
    static Failure no_such_file(std::size_t number);

    // Returns the files in the order of the pool, with an empty path for a missing number.
    [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

    // Returns the files to add for SIZE more bytes. Each has up to 128 MiB, or more if there would
    // be more than about 256 files. Each is in the directory with the fewest bytes that has room.
    // Fails with EFBIG if the directories have too little room, or there would be too many parts.
    [[nodiscard]] Result<std::vector<PlannedPart>> plan(std::uint64_t size) const;

private:
    struct Directory {
        std::filesystem::path path;
        std::uint64_t capacity; // the size in the pool set file
        std::uint64_t used;     // total size of its part files
    };

    Result<> scan_directory(const PoolSetPart& part);
    Result<> add_file(Directory& directory, const std::filesystem::path& path);

    std::vector<Directory> directories_;
    std::vector<std::filesystem::path> files_; // the index is the number
};

} // namespace rpmem::target
