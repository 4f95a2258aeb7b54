// SPDX-License-Identifier: BSD-3-Clause
// remove: calls rpmem_remove(). First asks the target which parts exist. With --force, asks
// afterwards which are left.
#include "tools/ctl/pool_claim.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <librpmem.h>

#include <cerrno>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

ActionAnswer ask_info(const Context& context) {
    return ask_action(context.target, {"--info", context.command.pool_set}, context.settings, {});
}

// Returns the paths of the parts that exist and are not empty.
json existing_parts(const json& info) {
    json paths = json::array();
    for (const json& part : member(info, "parts"))
        if (number_of(part, "size").value_or(0) > 0)
            paths.push_back(text_of(part, "path"));
    return paths;
}

std::string joined_paths(const json& paths) {
    std::string text;
    for (const json& path : paths)
        text += (text.empty() ? "" : ", ") + path.get<std::string>();
    return text;
}

std::string holders_of(const json& info) {
    std::string text;
    for (const json& session : member(info, "sessions"))
        text += fmt::format("; session {} of {}@{} ({}) has it", text_of(session, "id"),
                            text_of(session, "user"), text_of(session, "host"),
                            text_of(session, "address"));
    return text;
}

// Returns why nothing may be removed, even with --force: the pool set does not exist, or the pool
// is in use. Returns nothing if the target could not be asked, because the removal then reports
// why.
std::optional<ActionAnswer> refusal(const Command& command, const ActionAnswer& info) {
    if (number_of(member(info.document, "error"), "code") == std::uint64_t{ENOENT})
        return info;
    if (!flag_of(info.document, "in_use"))
        return std::nullopt;
    ActionAnswer busy = failed_answer(
        EBUSY, fmt::format("pool {} is in use, and nothing was removed{}; end the program, or "
                           "`rpmemctl evict` its session",
                           command.pool_set, holders_of(info.document)));
    busy.document["sessions"] = member(info.document, "sessions");
    return busy;
}

// The target refuses to remove a pool that its program will make equal. With --force, clears the
// marks first. Returns why the pool is not removed, or nothing.
std::optional<ActionAnswer> give_up_marks(const Context& context, const ActionAnswer& info) {
    const bool is_owed = number_of(info.document, "alone_since").has_value() ||
                         number_of(info.document, "catching_up_since").has_value();
    const PoolClaim claim = read_claim(info.document);
    if (!is_owed && !claim.is_accepted)
        return std::nullopt;
    if (!context.command.force)
        return failed_answer(
            EPERM, fmt::format("pool {} is not removed: its program has not made it equal yet, or "
                               "an operator has accepted this copy; use --force",
                               context.command.pool_set));
    ActionAnswer marked = mark_equal(context, claim, claim.is_accepted);
    return marked.status == status_done ? std::nullopt : std::optional(std::move(marked));
}

Result<> remove_by_library(const Command& command, int flags) {
    if (::rpmem_remove(command.target.c_str(), command.pool_set.c_str(), flags) == 0)
        return {};
    return fail(ErrorClass::target_refused, errno == EAGAIN ? EBUSY : errno, "{}",
                ::rpmem_errormsg());
}

// With --force the library succeeds even if parts are left. So the pool set file is removed last,
// and only if no part that it names is left. Returns the parts that are left.
Result<json> remove_step_by_step(const Context& context) {
    RPMEM_TRY(remove_by_library(context.command, RPMEM_REMOVE_FORCE));
    const ActionAnswer after = ask_info(context);
    if (after.status == status_done && !existing_parts(after.document).empty())
        return existing_parts(after.document);
    if (!context.command.keep_set)
        RPMEM_TRY(remove_by_library(context.command, RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET));
    return json::array();
}

std::string describe_removed(const json& document) {
    const json& parts = member(document, "parts");
    const std::string text = fmt::format("removed {}: {}", text_of(document, "name"),
                                         parts.empty() ? "no part existed" : joined_paths(parts));
    return text + (flag_of(document, "pool_set_file") ? ", and its pool set file\n" : "\n");
}

ActionAnswer remove_existing(const Context& context, const json& parts) {
    const Command& command = context.command;
    const auto left =
        command.force
            ? remove_step_by_step(context)
            : remove_by_library(command, command.keep_set ? 0 : RPMEM_REMOVE_POOL_SET).map([] {
                  return json(json::array());
              });
    if (!left)
        return failed_answer(left.error().code, left.error().text);
    if (!left->empty()) {
        ActionAnswer answer = failed_answer(
            EACCES, fmt::format("pool {} was not removed: {} cannot be removed, so the pool set "
                                "file was kept; `rpmemctl info` shows what is wrong",
                                command.pool_set, joined_paths(*left)));
        answer.document["left"] = *left;
        return answer;
    }
    return {json{{"format", 1},
                 {"name", command.pool_set},
                 {"removed", true},
                 {"parts", parts},
                 {"pool_set_file", !command.keep_set}}};
}

} // namespace

int remove_pool(const Context& context) {
    const ActionAnswer info = ask_info(context);
    if (const auto refused = refusal(context.command, info))
        return print_answer(context.command, *refused, describe_removed);
    if (const auto refused = give_up_marks(context, info))
        return print_answer(context.command, *refused, describe_removed);
    return print_answer(context.command, remove_existing(context, existing_parts(info.document)),
                        describe_removed);
}

} // namespace rpmem::ctl
