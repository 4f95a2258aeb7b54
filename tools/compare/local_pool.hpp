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
#include <string_view>
#include <vector>

namespace rpmem::compare {

// The end of the name of a file while it is being overwritten; see PartialPool.
inline constexpr std::string_view partial_suffix = ".partial";

class LocalPool {
public:
    // Whether to open a pool set that an interrupted process has left, see PartialPool.
    enum class Interrupted { refused, accepted };

    // PATH is an image of the pool, or a pool set file, whose parts are opened as well. REPLICA
    // sections of the pool set file are ignored.
    [[nodiscard]] static Result<LocalPool> open(const std::string& path, PoolFile::Use use,
                                                Interrupted interrupted = Interrupted::refused);
    // Like open(), but returns nothing if PATH is not a pool set file.
    [[nodiscard]] static Result<std::optional<LocalPool>>
    open_pool_set(const std::string& path, PoolFile::Use use, Interrupted interrupted);
    [[nodiscard]] static LocalPool image(PoolFile file);

    [[nodiscard]] std::uint64_t size() const { return layout_.size; }
    [[nodiscard]] bool is_pool_set() const { return is_pool_set_; }
    // Returns the path of the first part, as in the pool set file, or of the image.
    [[nodiscard]] const std::string& first_part() const { return first_part_; }
    [[nodiscard]] const std::vector<PoolFile>& files() const { return files_; }
    [[nodiscard]] bool is_hole(Range range) const;
    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> buffer) const;
    [[nodiscard]] Result<> write(std::uint64_t offset, std::span<const std::byte> data) const;
    [[nodiscard]] Result<> clear(Range range) const;
    [[nodiscard]] Result<> make_durable() const;

    // Returns this side of a comparison, with the identity in the first page.
    [[nodiscard]] Result<Side> side() const;
    [[nodiscard]] PoolBytes bytes() const;

private:
    // Calls CALL(file, range in that file, offset in RANGE) for each part that RANGE touches.
    [[nodiscard]] Result<>
    each_part(Range range,
              const std::function<Result<>(const PoolFile&, Range, std::uint64_t)>& call) const;

    std::string name_;
    std::string first_part_;
    bool is_pool_set_ = false;
    bool has_header_ = true; // the first page may be a header
    std::vector<PoolFile> files_;
    PartLayout layout_;
};

} // namespace rpmem::compare
