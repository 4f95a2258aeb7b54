// SPDX-License-Identifier: BSD-3-Clause
// Directories as parts of a pool set: the pool is made of files 000000.pmem, 000001.pmem, ... in
// them, numbered in the pool's order across all of them, and grows by adding files.
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

// Does POOL_SET name directories? EINVAL if it names files too, lacks OPTION SINGLEHDR, or has AUTO
// for a directory.
Result<bool> uses_directories(const PoolSet& pool_set);

class PartDirectories {
public:
    // EINVAL if a number occurs twice, or files exceed what their directory may hold.
    static Result<PartDirectories> scan(const PoolSet& pool_set);

    // ENOENT if there is no file.
    [[nodiscard]] Result<> check_not_empty() const;
    // ENOENT if a number is missing.
    [[nodiscard]] Result<> check_complete() const;
    static Failure no_such_file(std::size_t number);

    // The files there are, in the pool's order; an empty path for a number that is missing.
    [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

    // Files to add for SIZE more bytes: 128 MiB each (more where that would be very many files),
    // always into the directory that holds least. EFBIG: the directories may not hold that much.
    [[nodiscard]] Result<std::vector<PlannedPart>> plan(std::uint64_t size) const;

private:
    struct Directory {
        std::filesystem::path path;
        std::uint64_t capacity; // the size in the pool set file
        std::uint64_t used;
    };

    Result<> scan_directory(const PoolSetPart& part);
    Result<> add_file(Directory& directory, const std::filesystem::path& path);

    std::vector<Directory> directories_;
    std::vector<std::filesystem::path> files_; // by number
};

} // namespace rpmem::target
