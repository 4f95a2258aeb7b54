// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/action_request.hpp"

#include <algorithm>
#include <array>

namespace rpmem::target {
namespace {

using Verb = ActionRequest::Verb;

constexpr std::array all_words = {
    ActionWord{Verb::list, "--list", "", false, false, "print the pool sets and exit"},
    ActionWord{
        Verb::info, "--info", "POOLSET", false, false,
        "print facts about this pool set, its parts, its headers and its sessions, and exit"},
    ActionWord{Verb::check, "--check", "POOLSET", false, false,
               "print whether this pool can be opened, and exit"},
    ActionWord{Verb::check_all, "--check-all", "", false, false,
               "print for each pool whether it can be opened, and exit"},
    ActionWord{Verb::sessions, "--sessions", "", true, false, "print the sessions and exit"},
    ActionWord{Verb::evict, "--evict", "SESSION", true, true,
               "end this session, bar its initiator from reconnecting, and exit"},
    ActionWord{Verb::digest, "--digest", "POOLSET", false, false,
               "print the digests (XXH3-128) of this pool's chunks, and exit"},
    ActionWord{Verb::create, "--create-set", "POOLSET", true, true,
               "write this pool set file, create its pool, and exit"},
    ActionWord{Verb::mark_equal, "--mark-equal", "POOLSET", false, true,
               "record that this pool is not behind, and exit; for rpmemctl(1)"},
};

constexpr std::array all_texts = {
    ActionText{Verb::mark_equal, "--claim", &ActionRequest::claim, "CLAIM",
               "the claim on the pool with which it was compared"},
};

constexpr std::array all_numbers = {
    ActionNumber{Verb::digest, "--chunk", &ActionRequest::chunk, "bytes under one digest"},
    ActionNumber{Verb::digest, "--length", &ActionRequest::length, "bytes of the pool to digest"},
    ActionNumber{Verb::create, "--size", &ActionRequest::size, "bytes of the pool"},
};

constexpr std::array all_flags = {
    ActionFlag{Verb::digest, "--except", &ActionRequest::except,
               "leave out the ranges that standard input lists"},
    ActionFlag{Verb::create, "--no-headers", &ActionRequest::no_headers, "OPTION NOHDRS"},
    ActionFlag{Verb::create, set_only_option, &ActionRequest::set_only,
               "write the pool set file, and create no pool"},
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
        return invalid("{} needs a name, which does not begin with \"-\"", option);
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
