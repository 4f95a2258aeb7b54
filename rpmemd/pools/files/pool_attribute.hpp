// SPDX-License-Identifier: BSD-3-Clause
// The extended attribute of the first part that contains the record of the pool. It belongs to the
// inode, so the record is the same under every name and mount and for every user. The data of the
// part does not change.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::target {

class SyncTracker;
class PartFile;

inline constexpr const char* pool_attribute_name = "user.rpmem.pool";

// Larger values are invalid. A record takes about 600 bytes. It must be small, because ext4 with
// blocks of 1 KiB has one block for all attributes of a file.
inline constexpr std::size_t max_pool_attribute_size = 2048;

// Refers to the part, which must stay open.
class PoolAttribute {
public:
    // If the part is in use, pass its SYNCS, because a sync of the attribute can receive the error
    // of another sync of the file. Pass null if nothing else syncs the part.
    explicit PoolAttribute(const PartFile& part, SyncTracker* syncs = nullptr)
        : part_(&part), syncs_(syncs) {}

    // Returns nothing if the part has no attribute. Fails with ENOTSUP if it cannot have one,
    // because its file system has no user attributes or it is a Device DAX. Fails with ERANGE if
    // the value is too large.
    [[nodiscard]] Result<std::optional<std::string>> read() const;
    // Replaces FORMER, the current value, or nothing if there is none. VALUE is durable on return.
    // On failure tries to restore FORMER. Fails with ENOTSUP like read(), and with ENODATA if the
    // attribute was removed meanwhile.
    [[nodiscard]] Result<> write(std::string_view value,
                                 const std::optional<std::string>& former) const;

    [[nodiscard]] const PartFile& part() const { return *part_; }

private:
    [[nodiscard]] bool put(std::string_view value, int flags) const;

    const PartFile* part_;
    SyncTracker* syncs_;
};

} // namespace rpmem::target
