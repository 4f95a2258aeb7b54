// SPDX-License-Identifier: BSD-3-Clause
// The actions check and check-all: whether one pool, or each pool in the pool set directory, can be
// opened.
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/caller.hpp"
#include "rpmemd/actions/document.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace rpmem::target {
namespace {

using nlohmann::json;

// Opens the pool read-only, so that nothing on the medium changes.
Result<Pool> open_to_check(ActionContext& context, const std::string& name) {
    PoolOptions options = context.pool_options;
    options.read_only = true;
    return open_pool(options, name, 0, context.log);
}

// Returns the state for the document. RECORD is from record_members().
const char* checked_state(const PoolFacts& facts, const Result<Pool>& pool, const json& record) {
    if (!pool)
        return pool.error().code == EBUSY ? "in use" : is_absent(facts) ? "absent" : "faulty";
    if (!record.at("record_problem").get_ref<const std::string&>().empty())
        return "faulty";
    if (!record.at("catching_up_since").is_null())
        return "catching up";
    return record.at("behind_since").is_null() ? "sound" : "behind";
}

json checked(ActionContext& context, const std::string& name) {
    json entry = {{"name", name},
                  {"state", "faulty"},
                  {"problem", ""},
                  {"size", 0},
                  {"behind_since", nullptr},
                  {"catching_up_since", nullptr},
                  {"alone_since", nullptr},
                  {"repairs", json::array()}};
    const auto facts = examine_pool(context.pool_options, name);
    if (!facts) {
        entry["problem"] = facts.error().text;
        return entry;
    }
    const auto pool = open_to_check(context, name);
    const bool in_use = !pool && is_in_use(*facts, sessions_of(context, name));
    const json record = record_members(context, *facts, in_use);
    entry["state"] = checked_state(*facts, pool, record);
    entry["repairs"] = repairs_of(*facts);
    for (const char* const mark : {"behind_since", "catching_up_since", "alone_since"})
        entry[mark] = record[mark];
    if (pool)
        entry["size"] = pool->size();
    entry["problem"] = pool     ? record["record_problem"].get<std::string>()
                       : in_use ? with_holder(context, name, pool.error()).value().text
                                : pool.error().text;
    return entry;
}

} // namespace

ActionResult check_pool(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(const auto facts, examine_pool(context.pool_options, request.name));
    auto pool = open_to_check(context, request.name);
    if (!pool && pool.error().code == EBUSY)
        return with_holder(context, request.name, std::move(pool).error());
    json report = {{"name", request.name},
                   {"sound", pool.has_value()},
                   {"problem", pool ? "" : pool.error().text},
                   {"repairs", repairs_of(facts)},
                   {"size", pool ? pool->size() : 0},
                   {"headers", name_of(facts.headers)},
                   {"shutdown_state", facts.header ? shutdown_json(*facts.header) : json(nullptr)}};
    // If the pool could be opened, no session that may write has it.
    const bool in_use = !pool && is_in_use(facts, sessions_of(context, request.name));
    report.update(record_members(context, facts, in_use));
    return report;
}

// Opening a large, sparse pool takes seconds on kernels before 6.5. Therefore the action checks
// before each pool whether its client still waits.
ActionResult check_all_pools(ActionContext& context, const ActionRequest& /*request*/) {
    const std::filesystem::path& directory = context.pool_options.poolset_dir;
    RPMEM_TRY(check_poolset_dir(directory));
    const Caller caller(STDIN_FILENO, STDOUT_FILENO);
    const FoundNames found = find_pool_sets(directory);
    json pools = json::array();
    for (const std::string& name : found.names) {
        if (caller.is_gone())
            return fail(ErrorClass::link_lost, ECANCELED,
                        "checking the pools was interrupted: the client has disconnected");
        pools.push_back(checked(context, name));
    }
    return json{{"poolset_dir", directory.native()}, {"complete", found.all}, {"pools", pools}};
}

} // namespace rpmem::target
