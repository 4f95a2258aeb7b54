// SPDX-License-Identifier: BSD-3-Clause
// A pool on this machine while it is being overwritten. Until commit(), nothing that bears the
// pool's name looks whole: an image is written to IMAGE.partial and then renamed, and a pool set
// lacks its first part, which is called PART.partial meanwhile. What an interrupted process leaves
// is what the next one continues.
#pragma once

#include "common/base/unique_fd.hpp"
#include "tools/compare/local_pool.hpp"

#include <string>

namespace rpmem::compare {

// Where the image PATH is written; symbolic links are followed.
[[nodiscard]] std::string partial_name(const std::string& path);

class PartialPool {
public:
    // PATH: an image, or a pool set file. The partial image is that of an interrupted process, or a
    // copy of the image, and gets SIZE bytes. EBUSY if another process writes to it.
    [[nodiscard]] static Result<PartialPool> begin(const std::string& path, std::uint64_t size);

    [[nodiscard]] const LocalPool& pool() const { return pool_; }
    // Call before the first write: takes the name of a pool set's first part away.
    [[nodiscard]] Result<> mark() const;
    // Makes the pool durable, and gives its file the name back.
    [[nodiscard]] Result<> commit() const;

private:
    PartialPool(LocalPool pool, UniqueFd lock, std::string whole)
        : pool_(std::move(pool)), lock_(std::move(lock)), whole_(std::move(whole)),
          partial_(whole_ + std::string(partial_suffix)) {}
    [[nodiscard]] static Result<PartialPool> begin_image(const std::string& path,
                                                         std::uint64_t size);

    LocalPool pool_;
    UniqueFd lock_;     // of an image
    std::string whole_; // the name that commit() gives
    std::string partial_;
};

} // namespace rpmem::compare
