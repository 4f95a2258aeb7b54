// SPDX-License-Identifier: BSD-3-Clause
// One function for each verb of run_action(), and what they have in common.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "rpmemd/pools/store.hpp"
#include "rpmemd/registry/sessions.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/settings/action_request.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

// The state of the target that an action works on.
struct ActionContext {
    StoreOptions store;
    std::filesystem::path state_dir;
    std::optional<StateDirectory> state; // nothing: it cannot be used
    std::string state_problem;           // why not
    std::vector<LiveSession> sessions;   // as the action begins
    bool shows_sessions;                 // to the one who asks; false: only that a pool is in use
    Log log;
};

// Those that have the pool set NAME.
[[nodiscard]] std::vector<LiveSession> sessions_of(const ActionContext& context,
                                                   const std::string& name);

// What a document shows of SESSIONS.
[[nodiscard]] nlohmann::json shown(const ActionContext& context,
                                   const std::vector<LiveSession>& sessions);

// "used by SESSION, since ..." behind the text of an EBUSY, if it is known.
[[nodiscard]] Failure with_holder(const ActionContext& context, const std::string& name,
                                  Error error);

// See record_members.cpp. IN_USE: a daemon has the pool.
[[nodiscard]] nlohmann::json record_members(const ActionContext& context, const PoolFacts& pool,
                                            bool in_use);

using ActionResult = Result<nlohmann::json>; // the members of the document

[[nodiscard]] ActionResult list_pool_sets(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult tell_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult check_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult list_sessions(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult evict_session(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult digest_pool(ActionContext& context, const ActionRequest& request);
[[nodiscard]] ActionResult create_set(ActionContext& context, const ActionRequest& request);

} // namespace rpmem::target
