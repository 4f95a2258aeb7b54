// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/action_request.hpp"

#include "common/base/log.hpp"

#include <algorithm>
#include <array>

namespace rpmem::target {
namespace {

using Verb = ActionRequest::Verb;

constexpr std::array all_words = {
    ActionWord{Verb::list, "--list", "", false, false, "List the pool sets"},
    ActionWord{Verb::info, "--info", "POOLSET", false, false,
               "Show the parts, headers and sessions of a pool"},
    ActionWord{Verb::check, "--check", "POOLSET", false, false,
               "Check whether a pool can be opened"},
    ActionWord{Verb::check_all, "--check-all", "", false, false,
               "Check whether each pool can be opened"},
    ActionWord{Verb::sessions, "--sessions", "", true, false, "List the sessions"},
    ActionWord{Verb::evict, "--evict", "SESSION", true, true,
               "End a session; its initiator cannot reconnect"},
    ActionWord{Verb::digest, "--digest", "POOLSET", false, false,
               "Print the digests (XXH3-128) of the chunks of a pool"},
    ActionWord{Verb::create, "--create-set", "POOLSET", true, true,
               "Write a pool set file, and create its pool"},
    ActionWord{Verb::mark_equal, "--mark-equal", "POOLSET", false, true,
               "Record that a pool is not behind, for rpmemctl(1)"},
    ActionWord{Verb::accept, "--accept", "POOLSET", true, true,
               "Accept a pool that may be behind as it is"},
    ActionWord{Verb::take, "--take", "POOLSET", true, true,
               "Take a pool from its initiator, and make it a pool of this machine"},
};

constexpr std::array all_texts = {
    ActionText{Verb::mark_equal, "--claim", &ActionRequest::claim, "CLAIM",
               "claim on the pool at the time of the comparison (required)"},
};

constexpr std::array all_numbers = {
    ActionNumber{Verb::digest, "--chunk", &ActionRequest::chunk, "size of a chunk"},
    ActionNumber{Verb::digest, "--length", &ActionRequest::length,
                 "bytes of the pool to digest (default all)"},
    ActionNumber{Verb::create, "--size", &ActionRequest::size, "size of the pool (required)"},
};

constexpr std::array all_flags = {
    ActionFlag{Verb::digest, "--except", &ActionRequest::except,
               "leave out the ranges that standard input lists"},
    ActionFlag{Verb::create, "--no-headers", &ActionRequest::no_headers,
               "create a pool without headers (OPTION NOHDRS)"},
    ActionFlag{Verb::create, set_only_option, &ActionRequest::set_only,
               "write the pool set file, but create no pool"},
    ActionFlag{Verb::mark_equal, "--forget-accepted", &ActionRequest::forget_accepted,
               "also forget that an operator has accepted the pool"},
    ActionFlag{Verb::take, "--accept-loss", &ActionRequest::accept_loss,
               "take a pool that may lack acknowledged writes"},
};

} // namespace

std::span<const ActionWord> action_words() { return all_words; }
std::span<const ActionText> action_texts() { return all_texts; }
std::span<const ActionNumber> action_numbers() { return all_numbers; }
std::span<const ActionFlag> action_flags() { return all_flags; }

const ActionWord& word_of(Verb verb) {
    return *std::ranges::find(all_words, verb, &ActionWord::verb); // every verb is in the table
}

std::vector<std::string> parts_of(const ActionRequest& request,
                                  const std::filesystem::path& poolset_dir) {
    if (!request.parts.empty())
        return request.parts;
    return {(poolset_dir / (request.name + std::string(part_suffix))).native()};
}

Result<> check_request(const ActionRequest& request) {
    const std::string_view option = word_of(request.verb).option;
    if (!word_of(request.verb).argument.empty() &&
        (request.name.empty() || request.name.front() == '-'))
        return invalid("{} needs a name that does not begin with \"-\", but has \"{}\"", option,
                       printable(request.name));
    if (request.verb == Verb::create && request.size == 0)
        return invalid("{} needs the size of the pool (--size BYTES)", option);
    if (request.verb == Verb::mark_equal && request.claim.empty())
        return invalid("{} needs the claim with which the pool was compared (--claim)", option);
    if (request.parts.size() > max_requested_parts)
        return invalid("{}: {} parts are named; at most {} are allowed", option,
                       request.parts.size(), max_requested_parts);
    return {};
}

} // namespace rpmem::target
