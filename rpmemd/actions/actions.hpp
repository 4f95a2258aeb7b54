// SPDX-License-Identifier: BSD-3-Clause
// The actions that run_action() selects by their verb, and the functions that they share.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/registry/records.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/settings/action_request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// The state of the target, shared by all actions.
struct ActionContext {
    PoolOptions pool_options;
    std::filesystem::path state_dir;
    std::optional<StateDirectory> state; // nothing if state-dir cannot be used
    std::string state_problem;           // why state-dir cannot be used
    std::vector<LiveSession> sessions;   // the sessions at the start of the action
    bool shows_sessions; // the client may learn who has a pool, not only that it is in use
    Log log;
};

// Returns the sessions that have the pool set NAME.
[[nodiscard]] std::vector<LiveSession> sessions_of(const ActionContext& context,
                                                   const std::string& name);

// Returns SESSIONS for a document, or an empty array if the client may not see them.
[[nodiscard]] nlohmann::json shown(const ActionContext& context,
                                   const std::vector<LiveSession>& sessions);

// Adds the sessions that have the pool set NAME to the text of an EBUSY or EAGAIN, if the client
// may see them. The code of both becomes EBUSY.
[[nodiscard]] Failure with_holder(const ActionContext& context, const std::string& name,
                                  Error error);

// Returns the members of a document that come from the record of the pool, see record_members.cpp.
// IN_USE states that a daemon has the pool.
[[nodiscard]] nlohmann::json record_members(const ActionContext& context, const PoolFacts& pool,
                                            bool in_use);

// Returns the members that identify a claim on a pool: pool_id, epoch and generation. All are null
// if the epoch of RECORD is 0, which means that there is no claim.
[[nodiscard]] nlohmann::json claim_members(const PoolRecord& record);

// The pool sets below a directory, by their names relative to it.
struct FoundNames {
    std::vector<std::string> names;
    bool all = true; // false: the directory has too many files, or could not be read to its end
};
[[nodiscard]] FoundNames find_pool_sets(const std::filesystem::path& directory);
// Fails with ENOENT if DIRECTORY is not a directory or cannot be accessed.
[[nodiscard]] Result<> check_poolset_dir(const std::filesystem::path& directory);

// Returns whether none of the parts exists.
[[nodiscard]] bool is_absent(const PoolFacts& pool);
// Returns whether a session or another program uses the pool. SESSIONS are those of the pool.
[[nodiscard]] bool is_in_use(const PoolFacts& pool, const std::vector<LiveSession>& sessions);

// Opens a pool of which the record may change: read-only, so that no byte of a part changes, or for
// writing if its first page is hidden. NAME is that of its pool set.
[[nodiscard]] Result<Pool> open_for_record(ActionContext& context, const std::string& name);

using ActionResult = Result<nlohmann::json>; // the members of the document

[[nodiscard]] ActionResult list_pool_sets(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult pool_info(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult check_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult check_all_pools(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult list_sessions(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult evict_session(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult digest_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult mark_equal(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult accept_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult take_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult create_set(ActionContext& context, const ActionRequest& request);

} // namespace rpmem::target
