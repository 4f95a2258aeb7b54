// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace rpmem::initiator {

bool are_same_files(const std::vector<LocalFile>& left, const std::vector<LocalFile>& right) {
    return std::ranges::equal(left, right, {}, &LocalFile::identity, &LocalFile::identity);
}

std::optional<std::string> missing_proof(const wire::PoolState& target,
                                         const std::optional<InitiatorRecord>& record,
                                         const std::vector<LocalFile>& files) {
    if (!record)
        return "this machine has no record of an earlier session that wrote to the pool";
    if (record->pool != target.id)
        return "the record on this machine is of another pool";
    if (target.last_epoch != record->epoch && target.last_epoch != record->opened_epoch)
        return fmt::format("the last session that wrote to the pool (epoch {}) is not the one that "
                           "this machine has a record of (epoch {})",
                           target.last_epoch, record->epoch);
    if (record->files.size() != files.size())
        return fmt::format("the pool's memory maps {} files, and mapped {} in the last session",
                           files.size(), record->files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (record->files[i].identity != files[i].identity)
            return fmt::format("{} is another file than the one of the last session",
                               files[i].path);
        if (record->files[i].modified > files[i].modified)
            return fmt::format("{} was modified last before the last session; it may be a backup",
                               files[i].path);
    }
    return std::nullopt;
}

} // namespace rpmem::initiator
