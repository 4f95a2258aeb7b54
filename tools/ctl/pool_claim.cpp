// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/pool_claim.hpp"

#include "tools/ctl/reading.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <string_view>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

constexpr std::size_t id_digits = 32;

// Timeout of --mark-equal, for which the target opens the pool.
constexpr std::chrono::minutes mark_timeout(5);

bool is_id(const std::string& text) {
    return text.size() == id_digits &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string describe(const PoolClaim& claim) {
    return claim.id.empty() ? "no writer"
                            : fmt::format("epoch {} generation {}", claim.epoch, claim.generation);
}

} // namespace

PoolClaim read_claim(const json& document) {
    if (!document.contains("generation"))
        return {.unknown = "the target's rpmemd is too old to report it"};
    if (!text_of(document, "record_problem").empty())
        return {.unknown = printable(text_of(document, "record_problem"))};
    PoolClaim claim{.is_marked = number_of(document, "behind_since").has_value() ||
                                 number_of(document, "catching_up_since").has_value(),
                    .is_accepted = number_of(document, "accepted_epoch").has_value()};
    if (member(document, "pool_id").is_null())
        return claim;
    claim.id = text_of(document, "pool_id");
    claim.epoch = number_of(document, "epoch").value_or(0);
    claim.generation = number_of(document, "generation").value_or(0);
    if (!is_id(claim.id) || claim.epoch == 0)
        return {.unknown = fmt::format("the target reports pool_id \"{}\" and epoch {}; expected "
                                       "are {} hexadecimal digits and an epoch of 1 or more",
                                       claim.id, claim.epoch, id_digits)};
    return claim;
}

ActionAnswer stale_answer(const Context& context, const PoolClaim& before, const PoolClaim& now,
                          const std::string& consequence) {
    return failed_answer(
        ESTALE,
        fmt::format("another session has opened pool {} for writing meanwhile ({}, now {}); "
                    "{}",
                    context.command.pool_set, describe(before), describe(now), consequence));
}

tl::expected<PoolClaim, ActionAnswer> check_claim(const Context& context, const PoolClaim& before,
                                                  bool pushed, const std::string& consequence) {
    const ActionAnswer info =
        ask_action(context.target, {"--info", context.command.pool_set}, context.settings, {});
    if (info.status != status_done)
        return tl::unexpected(info);
    PoolClaim now = read_claim(info.document);
    if (!before.unknown.empty())
        now.unknown = before.unknown;
    if (now.unknown.empty() && !(pushed ? now.follows(before) : now.is_same_as(before)))
        return tl::unexpected(stale_answer(context, before, now, consequence));
    return now;
}

ActionAnswer mark_equal(const Context& context, const PoolClaim& claim, bool forgets_accepted) {
    std::vector<std::string> words = {
        "--mark-equal", context.command.pool_set, "--claim",
        fmt::format("{}-{}-{}", claim.id, claim.epoch, claim.generation)};
    if (forgets_accepted)
        words.emplace_back("--forget-accepted");
    return ask_action(context.target, words, context.settings, mark_timeout);
}

} // namespace rpmem::ctl
