// SPDX-License-Identifier: BSD-3-Clause
// A pool on this machine: one file, or the parts that a pool set file lists.
#pragma once

#include "common/pools/part_layout.hpp"
#include "tools/compare/identity.hpp"
#include "tools/compare/pmemobj_layout.hpp"
#include "tools/compare/pool_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::compare {

class LocalPool {
public:
    // PATH: a file that is an image of the pool, or a pool set file with its parts; sections that
    // begin with REPLICA are ignored.
    [[nodiscard]] static Result<LocalPool> open(const std::string& path, PoolFile::Use use);
    // As open() to write for a pool set file and its parts, which must exist; an image is created,
    // and gets SIZE.
    [[nodiscard]] static Result<LocalPool> make(const std::string& path, std::uint64_t size);

    [[nodiscard]] std::uint64_t size() const { return layout_.size; }
    [[nodiscard]] bool is_pool_set() const { return is_pool_set_; }
    [[nodiscard]] bool is_hole(Range range) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer) const;
    [[nodiscard]] Result<> write(std::uint64_t offset, std::span<const std::byte> data) const;
    [[nodiscard]] Result<> clear(Range range) const;
    [[nodiscard]] Result<> make_durable() const;

    // As the first page says.
    [[nodiscard]] Result<Side> side() const;
    [[nodiscard]] PoolBytes bytes() const;

private:
    // Calls CALL(file, range of that file, offset in RANGE) for each part of RANGE.
    [[nodiscard]] Result<>
    each_part(Range range,
              const std::function<Result<>(const PoolFile&, Range, std::uint64_t)>& call) const;
    [[nodiscard]] static Result<std::optional<LocalPool>> open_pool_set(const std::string& path,
                                                                        PoolFile::Use use);
    [[nodiscard]] static LocalPool image(PoolFile file);

    std::string name_;
    bool is_pool_set_ = false;
    bool has_header_ = true; // it may have one
    std::vector<PoolFile> files_;
    PartLayout layout_;
};

} // namespace rpmem::compare
