// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/comparing.hpp"

#include "tools/ctl/progress.hpp"
#include "tools/ctl/read_digests.hpp"
#include "tools/ctl/reading.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>

namespace rpmem::ctl {
namespace {

using compare::Range;
using nlohmann::json;

// Returns a line for each range, and an empty one at the end. See --except in rpmemd(1).
std::string lines_of(const compare::Ranges& ranges) {
    std::string text;
    for (const Range& range : ranges)
        text += fmt::format("{} {}\n", range.begin, range.size());
    return text + "\n";
}

ActionAnswer ask_digests(const Context& context, const compare::Preparation& preparation) {
    const Progress progress("the target reads its pool", 0);
    std::vector<std::string> words = {"--digest", context.command.pool_set, "--length",
                                      std::to_string(preparation.length)};
    if (preparation.excluded.empty())
        return ask_action(context.target, words, context.settings, work_timeout);
    words.emplace_back("--except");
    return ask_action(context.target, words, context.settings, work_timeout,
                      lines_of(preparation.excluded));
}

std::string joined_texts(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : "; ") + text;
    return all;
}

} // namespace

ActionAnswer answer_of(const Error& error) { return failed_answer(error.code, error.text); }

std::uint64_t Comparison::differing() const {
    std::uint64_t sum = 0;
    for (const std::size_t i : chunks)
        sum += pool.range(i).size();
    return sum;
}

std::vector<Range> Comparison::ranges() const {
    std::vector<Range> ranges;
    for (const std::size_t i : chunks)
        ranges.push_back(pool.range(i));
    return compare::joined(std::move(ranges));
}

Answered<RemotePool> ask_pool(const Context& context) {
    const Command& command = context.command;
    const ActionAnswer info =
        ask_action(context.target, {"--info", command.pool_set}, context.settings, {});
    if (info.status != status_done)
        return tl::unexpected(info);
    compare::Side side{.name = command.pool_set,
                       .size = number_of(info.document, "size").value_or(0),
                       .has_header = text_of(info.document, "headers") != "none"};
    const json& attributes = member(info.document, "attributes");
    if (attributes.is_object())
        side.identity = {text_of(attributes, "signature"), text_of(attributes, "poolset_uuid")};
    if (side.size > 0 && (side.identity || !side.has_header))
        return RemotePool{std::move(side), read_claim(info.document)};
    // The pool cannot be used. The action that opens it reports why.
    ActionAnswer check =
        ask_action(context.target, {"--digest", command.pool_set}, context.settings, work_timeout);
    if (check.status == status_done)
        check = failed_answer(
            EPROTO,
            fmt::format("the target's report on the pool has size {}, headers \"{}\" and {} "
                        "attributes, and yet the pool can be read",
                        side.size, text_of(info.document, "headers"),
                        attributes.is_object() ? "valid" : "no"));
    return tl::unexpected(std::move(check));
}

Answered<compare::Preparation> prepare_comparison(const Context& context,
                                                  const compare::LocalPool& local,
                                                  const compare::Side& remote) {
    auto preparation = compare::prepare(local, remote);
    if (!preparation)
        return tl::unexpected(answer_of(preparation.error()));
    if (preparation->mismatches.empty() || context.command.force)
        return std::move(*preparation);
    ActionAnswer refused = failed_answer(
        EINVAL, joined_texts(preparation->mismatches) +
                    "; nothing was compared, and nothing was moved (--force ignores this)");
    refused.document["mismatches"] = preparation->mismatches;
    refused.status = status_differs;
    return tl::unexpected(std::move(refused));
}

Answered<Comparison> ask_for_digests(const Context& context, compare::Preparation preparation,
                                     const PoolClaim& before) {
    ActionAnswer asked = ask_digests(context, preparation);
    if (asked.status == status_unknown && !preparation.excluded.empty()) {
        include_all(preparation);
        preparation.not_compared.emplace_back(
            "nothing else: the target's rpmemd cannot leave out ranges, so bytes that are never "
            "replicated count as different");
        asked = ask_digests(context, preparation);
    }
    if (asked.status != status_done)
        return tl::unexpected(std::move(asked));
    Comparison comparison{.preparation = std::move(preparation),
                          .claim = read_claim(asked.document)};
    if (!before.unknown.empty())
        comparison.claim.unknown = before.unknown;
    else if (comparison.claim.unknown.empty() && !comparison.claim.is_same_as(before))
        return tl::unexpected(
            stale_answer(context, before, comparison.claim, "nothing was moved; try again"));
    auto digests = read_digests(asked.document);
    if (!digests)
        return tl::unexpected(answer_of(digests.error()));
    comparison.pool = std::move(*digests);
    comparison.pool.excluded = comparison.preparation.excluded;
    if (comparison.pool.length == comparison.preparation.length)
        return comparison;
    return tl::unexpected(
        failed_answer(EPROTO, fmt::format("the target's digests cover {} bytes, expected {}",
                                          comparison.pool.length, comparison.preparation.length)));
}

Result<Comparison> find_differences(const Context& context, const compare::LocalPool& local,
                                    Comparison comparison) {
    Progress progress("comparing", comparison.pool.length);
    RPMEM_ASSIGN(comparison.chunks, compare::differing_chunks(
                                        local.bytes(), comparison.pool, context.command.lanes,
                                        [&progress](std::uint64_t bytes) { progress.add(bytes); }));
    return comparison;
}

} // namespace rpmem::ctl
