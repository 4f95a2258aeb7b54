// SPDX-License-Identifier: BSD-3-Clause
// The actions list and info, which report on pools, open none and change nothing.
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"
#include "rpmemd/registry/pool_files.hpp"
#include "rpmemd/registry/state_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace rpmem::target {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Limits for the search, because the pool set directory may be a home directory: files, depth of
// subdirectories, and pool sets.
constexpr std::size_t max_examined = 65536;
constexpr int deepest = 3;
constexpr std::size_t max_listed = 4096;

bool may_be_pool_set(const fs::directory_entry& entry) {
    std::error_code error;
    if (!entry.is_regular_file(error) || entry.file_size(error) > max_pool_set_file_size || error)
        return false;
    std::ifstream file(entry.path());
    std::string first_line(11, '\0'); // the length of PMEMPOOLSET
    file.read(first_line.data(), static_cast<std::streamsize>(first_line.size()));
    return file && begins_as_pool_set(first_line + "\n");
}

} // namespace

FoundNames find_pool_sets(const fs::path& directory) {
    FoundNames found;
    std::error_code error;
    std::size_t examined = 0;
    fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied,
                                           error);
    for (const fs::recursive_directory_iterator end; !error && entry != end;
         entry.increment(error)) {
        const bool hidden = entry->path().filename().native().starts_with('.');
        if (hidden || entry.depth() >= deepest)
            entry.disable_recursion_pending();
        if (++examined > max_examined || found.names.size() >= max_listed) {
            found.all = false;
            break;
        }
        if (may_be_pool_set(*entry))
            found.names.push_back(entry->path().lexically_relative(directory).native());
    }
    found.all = found.all && !error; // an error means that a directory was not read to its end
    std::ranges::sort(found.names);
    return found;
}

Result<> check_poolset_dir(const fs::path& directory) {
    std::error_code error;
    if (fs::is_directory(directory, error))
        return {};
    return fail(ErrorClass::caller_fault, ENOENT,
                "the pool set directory {} does not exist, is not a directory, or cannot be "
                "accessed; create it, or name another one (poolset-dir)",
                directory.native());
}

bool is_absent(const PoolFacts& pool) {
    const auto is_missing = [](const PartFacts& part) { return part.code == ENOENT; };
    return std::ranges::all_of(pool.parts, is_missing); // also true if there are no part files
}

bool is_in_use(const PoolFacts& pool, const std::vector<LiveSession>& sessions) {
    return !sessions.empty() || std::ranges::any_of(pool.parts, &PartFacts::locked);
}

namespace {

// Returns the state of a pool. The first one that applies wins. RECORD is from record_members().
const char* state_of(const PoolFacts& pool, const std::vector<LiveSession>& sessions,
                     const json& record) {
    if (is_absent(pool))
        return "absent";
    if (is_in_use(pool, sessions))
        return "in use";
    if (std::ranges::any_of(pool.parts, [](const auto& part) { return part.code != 0; }) ||
        !pool.header_problem.empty())
        return "faulty";
    if (!record.at("record_problem").get_ref<const std::string&>().empty())
        return "faulty";
    if (!record.at("catching_up_since").is_null())
        return "catching up";
    return record.at("behind_since").is_null() ? "closed" : "behind";
}

json summary(const ActionContext& context, const std::string& name) {
    json entry = {{"name", name}};
    const auto pool = examine_pool(context.pool_options, name);
    const auto sessions = sessions_of(context, name);
    const json record =
        pool ? record_members(context, *pool, is_in_use(*pool, sessions)) : json::object();
    entry["state"] = pool ? state_of(*pool, sessions, record) : "faulty";
    entry["problem"] = pool ? "" : pool.error().text;
    for (const char* const mark : {"behind_since", "catching_up_since", "alone_since"})
        entry[mark] = record.value(mark, json(nullptr));
    entry["size"] = pool ? pool->size : 0;
    entry["parts"] = pool ? pool->parts.size() : 0;
    entry["headers"] = pool ? name_of(pool->headers) : "";
    entry["sessions"] = shown(context, sessions);
    return entry;
}

} // namespace

ActionResult list_pool_sets(ActionContext& context, const ActionRequest& /*request*/) {
    const fs::path& directory = context.pool_options.poolset_dir;
    RPMEM_TRY(check_poolset_dir(directory));
    const FoundNames found = find_pool_sets(directory);
    json sets = json::array();
    for (const std::string& name : found.names)
        sets.push_back(summary(context, name));
    return json{{"poolset_dir", directory.native()}, {"complete", found.all}, {"pool_sets", sets}};
}

ActionResult pool_info(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(const auto pool, examine_pool(context.pool_options, request.name));
    const auto sessions = sessions_of(context, request.name);
    json parts = json::array();
    std::uint64_t allocated = 0;
    for (const PartFacts& part : pool.parts) {
        parts.push_back(json_of(part));
        allocated += part.allocated;
    }
    const json record = record_members(context, pool, is_in_use(pool, sessions));
    json report{{"name", request.name},
                {"poolset_dir", context.pool_options.poolset_dir.native()},
                {"state", state_of(pool, sessions, record)},
                {"headers", name_of(pool.headers)},
                {"size", pool.size},
                {"allocated", allocated},
                {"parts", parts},
                {"header_problem", pool.header_problem},
                {"attributes", pool.header ? attributes_json(*pool.header) : json(nullptr)},
                {"shutdown_state", pool.header ? shutdown_json(*pool.header) : json(nullptr)},
                {"in_use", is_in_use(pool, sessions)},
                {"sessions", shown(context, sessions)},
                {"sessions_problem", context.shows_sessions
                                         ? context.state_problem
                                         : "this key may not see them (--allow-admin)"}};
    report.update(record);
    return report;
}

} // namespace rpmem::target
