// SPDX-License-Identifier: BSD-3-Clause
// The extended attribute of the first part in which a pool keeps its record. It belongs to the
// inode, so every name, every mount and every user of the part meets the same record, and no byte
// of the part changes.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::target {

class OverlappingSyncs;
class PartFile;

inline constexpr const char* pool_attribute_name = "user.rpmem.pool";

// Larger values are not read. A record takes about 600 bytes: ext4 with blocks of 1 KiB keeps all
// attributes of a file in one block.
inline constexpr std::size_t max_pool_attribute_size = 2048;

// Refers to the part, which must stay open.
class PoolAttribute {
public:
    // SYNCS are those of a part that is in use: a sync of the attribute can receive the error that
    // belongs to another sync of the file. Null if nobody else syncs the part.
    explicit PoolAttribute(const PartFile& part, OverlappingSyncs* syncs = nullptr)
        : part_(&part), syncs_(syncs) {}

    // Nothing if the part has no attribute. ENOTSUP if it cannot have one: its file system has no
    // user attributes, or it is a Device DAX.
    [[nodiscard]] Result<std::optional<std::string>> read() const;
    // In the place of FORMER, which read() or the last write() has left; nothing: there was none.
    // Durable on return; else FORMER is there again. ENOTSUP as above; ENODATA: the attribute was
    // removed.
    [[nodiscard]] Result<> write(std::string_view value,
                                 const std::optional<std::string>& former) const;

    [[nodiscard]] const PartFile& part() const { return *part_; }

private:
    [[nodiscard]] bool put(std::string_view value, int flags) const;

    const PartFile* part_;
    OverlappingSyncs* syncs_;
};

} // namespace rpmem::target
