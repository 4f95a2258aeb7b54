// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes the record of a pool. It is in an extended attribute of the first part or, if
// the part cannot have one, in a file of state-dir.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/pools/files/part_identity.hpp"
#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <optional>
#include <string>

namespace rpmem::target {

// The first part and the directory must stay open.
class PoolRecordPlace {
public:
    enum class Access { read_only, read_write };

    // DIRECTORY is null if state-dir cannot be used.
    PoolRecordPlace(PoolAttribute attribute, const StateDirectory* directory,
                    PartIdentity first_part, Access access)
        : attribute_(attribute), directory_(directory), first_part_(std::move(first_part)),
          access_(access) {}

    // Returns nothing if the pool has no record. Fails with EINVAL if the attribute cannot be
    // decoded, and like PoolAttribute::read() except for ENOTSUP. For a record in state-dir it
    // fails with EBADMSG or ENOTSUP if the file cannot be decoded, with EBUSY if the file stays
    // locked, and with EACCES if state-dir cannot be used.
    [[nodiscard]] Result<std::optional<PoolRecord>> read();
    // Writes the record, which is durable on return. Call read() first. Fails with ENODATA if the
    // attribute was removed, and with ENOTSUP if the file system supports no attributes. If the
    // pool had none, later calls use state-dir: call read() and write() again. After any other
    // failure the next read() finds the earlier record, unless its medium has failed.
    [[nodiscard]] Result<> write(const PoolRecord& record);

    // Makes later writes sync without SyncTracker, which refuses every sync after a failure.
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
    std::optional<std::string> value_; // value of the attribute, if there is one
    std::optional<StateFile> file_;
    bool has_states_ = false; // of the newest record in FILE_
};

} // namespace rpmem::target
