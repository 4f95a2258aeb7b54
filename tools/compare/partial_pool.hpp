// SPDX-License-Identifier: BSD-3-Clause
// A pool on this machine while it is being overwritten. An incomplete pool never has its final
// name: an image is written to IMAGE.partial, and the first part of a pool set is called
// PART.partial. commit() renames the file. The next process continues what an interrupted one has
// left.
#pragma once

#include "common/base/unique_fd.hpp"
#include "tools/compare/local_pool.hpp"

#include <string>

namespace rpmem::compare {

// Returns the path to which the image PATH is written. Follows symbolic links.
[[nodiscard]] std::string partial_name(const std::string& path);

class PartialPool {
public:
    // PATH is an image or a pool set file. The partial image is that of an interrupted process, or
    // else a copy of the image, and its size is set to SIZE. Fails with EBUSY if another process
    // writes to it.
    [[nodiscard]] static Result<PartialPool> begin(const std::string& path, std::uint64_t size);

    [[nodiscard]] const LocalPool& pool() const { return pool_; }
    // Renames the first part of a pool set to PART.partial. Call it before the first write.
    [[nodiscard]] Result<> mark() const;
    // Makes the pool durable, and renames the partial file to its final name.
    [[nodiscard]] Result<> commit() const;

private:
    PartialPool(LocalPool pool, UniqueFd lock, std::string whole)
        : pool_(std::move(pool)), lock_(std::move(lock)), whole_(std::move(whole)),
          partial_(whole_ + std::string(partial_suffix)) {}
    [[nodiscard]] static Result<PartialPool> begin_image(const std::string& path,
                                                         std::uint64_t size);

    LocalPool pool_;
    UniqueFd lock_;     // lock on a partial image; empty for a pool set
    std::string whole_; // final name
    std::string partial_;
};

} // namespace rpmem::compare
