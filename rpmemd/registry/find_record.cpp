// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/find_record.hpp"

#include "rpmemd/registry/claim.hpp"
#include "rpmemd/registry/pool_files.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::target {
namespace {

Result<std::optional<PoolRecord>> record_in_state(const PoolFacts& pool,
                                                  const StateDirectory* state) {
    if (!state || !pool.first_part)
        return std::nullopt;
    RPMEM_ASSIGN(const auto name, pool_file_name(*pool.first_part));
    auto file = StateFile::open(*state, name);
    if (!file)
        return file.error().code == ENOENT ? Result<std::optional<PoolRecord>>(std::nullopt)
                                           : Failure(file.error());
    return file->read<PoolRecord>();
}

Result<std::optional<PoolRecord>> stored_record(const PoolFacts& pool,
                                                const StateDirectory* state) {
    if (!pool.attribute && pool.attribute.error().code == ENOTSUP)
        return record_in_state(pool, state);
    RPMEM_TRY(pool.attribute);
    if (!*pool.attribute)
        return std::nullopt;
    RPMEM_ASSIGN(auto record, decode_attribute(**pool.attribute));
    return std::optional(std::move(record));
}

} // namespace

Result<std::optional<PoolRecord>> find_record(const PoolFacts& pool, const StateDirectory* state) {
    RPMEM_ASSIGN(auto record, stored_record(pool, state));
    std::chrono::nanoseconds modified{};
    for (const PartFacts& part : pool.parts)
        modified = std::max(modified, part.modified);
    if (record)
        record = as_found(std::move(*record), modified);
    return record;
}

Result<> check_removal(const PoolOptions& options, const std::string& name,
                       const StateDirectory* state) {
    const auto pool = examine_pool(options, name);
    if (!pool || std::ranges::any_of(pool->parts, &PartFacts::locked))
        return {}; // the removal reports why
    const auto record = find_record(*pool, state);
    if (!record && record.error().code == ENOTSUP)
        return fail(ErrorClass::target_refused, EPERM,
                    "pool {} is not removed: its record is {}; or remove the pool with rpmemctl "
                    "remove --force",
                    name, record.error().text);
    if (!record || !*record)
        return {};
    if ((*record)->accepted_epoch != 0)
        return fail(
            ErrorClass::target_refused, EPERM,
            "pool {} is not removed: an operator has accepted this copy (rpmemctl accept or "
            "take), so another one may be older; remove it with rpmemctl remove --force",
            name);
    if (!may_be_ahead(**record) && (*record)->catching_up_since == 0)
        return {};
    return fail(ErrorClass::target_refused, EPERM,
                "pool {} is not removed: its program, of {}, has not made it equal yet; start "
                "that program again, or remove the pool with rpmemctl remove --force",
                name, describe((*record)->initiator));
}

} // namespace rpmem::target
