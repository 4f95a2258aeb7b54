// SPDX-License-Identifier: BSD-3-Clause
// Where the record of a pool is: in an attribute of its first part, or, if the part cannot have
// one, in a file of state-dir.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/part_identity.hpp"
#include "rpmemd/pools/pool_attribute.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <optional>
#include <string>

namespace rpmem::target {

// Used while the first part and the directory are open.
class PoolRecordPlace {
public:
    enum class Access { read_only, read_write };

    // DIRECTORY is null if state-dir cannot be used.
    PoolRecordPlace(PoolAttribute attribute, const StateDirectory* directory,
                    PartIdentity first_part, Access access)
        : attribute_(attribute), directory_(directory), first_part_(std::move(first_part)),
          access_(access) {}

    // Nothing if the pool has no record. EINVAL if there is one that cannot be understood, EACCES
    // if the record should be in state-dir, which cannot be used; else see PoolAttribute::read().
    [[nodiscard]] Result<std::optional<PoolRecord>> read();
    // Durable on return. To be called after read(). ENOTSUP: the file system has turned out to take
    // no attribute, and the record belongs into state-dir: read and write it there.
    [[nodiscard]] Result<> write(const PoolRecord& record);

    // From now on, as the syncs of the part have failed: they would not ask the medium any more.
    void sync_alone() { attribute_ = PoolAttribute(attribute_.part()); }

    [[nodiscard]] bool is_attribute() const { return in_attribute_; }

private:
    [[nodiscard]] Result<std::optional<PoolRecord>> read_file();
    [[nodiscard]] Result<> write_file(const PoolRecord& record);

    PoolAttribute attribute_;
    const StateDirectory* directory_;
    PartIdentity first_part_;
    Access access_;
    bool in_attribute_ = true;
    std::optional<std::string> value_; // of the attribute; nothing: there is none
    std::optional<StateFile> file_;
};

} // namespace rpmem::target
