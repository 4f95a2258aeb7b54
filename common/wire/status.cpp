// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace rpmem::wire {
namespace {

struct StatusEntry {
    Status status;
    int code;
    const char* text;
};

constexpr StatusEntry entries[] = {
    {Status::success, 0, "success"},
    {Status::bad_protocol, EPROTONOSUPPORT,
     "the target does not support this version of the protocol"},
    {Status::bad_name, EINVAL,
     "the pool set name is invalid: it must be a relative path that stays "
     "beneath the target's poolset-dir"},
    {Status::bad_size, EFBIG, "the pool is larger than the target's pool set"},
    {Status::bad_lanes, EINVAL, "the number of lanes is invalid"},
    {Status::bad_provider, EINVAL, "the target does not know the fabric provider"},
    {Status::fatal, EREMOTEIO, "the target failed; its log says why"},
    {Status::fatal_connection, ECONNABORTED,
     "the target could not set up the fabric connection; its log says why"},
    {Status::busy, EBUSY, "the pool is in use"},
    {Status::exists, EEXIST, "the pool, or a file where one of its parts would be, exists already"},
    {Status::provider_not_supported, EMEDIUMTYPE, "the target has no such fabric provider"},
    {Status::not_found, ENOENT,
     "the pool set, one of its parts or a directory on the way does not exist on the target"},
    {Status::no_access, EACCES, "the target refuses to use the pool set or one of its parts"},
    {Status::pool_configuration, EINVAL,
     "the target's pool set or the headers of its parts are not usable"},
    {Status::medium_failed, EIO, "the medium under the target's pool has failed"},
    {Status::stale, ESTALE,
     "the pool on the target is no longer the one that this session had; remove it there, and copy "
     "the local pool again (pmempool sync)"},
    {Status::bad_state, EINVAL,
     "the state of the replica is invalid, or the session has no pool that could have one"},
};

// Returns null for an unknown status.
const StatusEntry* entry_of(Status status) {
    const auto* const entry = std::ranges::find(entries, status, &StatusEntry::status);
    return entry != std::end(entries) ? entry : nullptr;
}

} // namespace

int errno_of(Status status) {
    const StatusEntry* const entry = entry_of(status);
    return entry ? entry->code : EREMOTEIO;
}

std::string describe(Status status) {
    if (const StatusEntry* const entry = entry_of(status))
        return entry->text;
    return fmt::format("the target responded with status {}, which this version does not know; "
                       "update the older end",
                       static_cast<std::uint32_t>(status));
}

} // namespace rpmem::wire
