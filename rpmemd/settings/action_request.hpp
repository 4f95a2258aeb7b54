// SPDX-License-Identifier: BSD-3-Clause
// An action that rpmemd does in place of a session, and answers with one JSON document: see
// rpmemd/actions/run_action.hpp. The command line and the forced command's grammar have the same
// words for it.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::target {

// Parts that one request may name.
inline constexpr std::size_t max_requested_parts = 64;

struct ActionRequest {
    enum class Verb { list, info, check, sessions, evict, digest, create };

    Verb verb = Verb::list;
    std::string name{}; // of the pool set, or of the session
    // Of `digest`:
    std::uint64_t chunk = 0;  // bytes of the pool under one digest; 0: as many as suit
    std::uint64_t length = 0; // of the pool; 0: all
    bool except = false;      // standard input names ranges that the digests leave out
    // Of `create`:
    std::uint64_t size = 0;
    std::vector<std::string> parts{}; // none: one beside the pool set file
    bool no_headers = false;
    bool set_only = false; // the pool set file, and no pool

    bool operator==(const ActionRequest&) const = default;
};

// One verb: how it is asked for, and what its key must be allowed to.
struct ActionWord {
    ActionRequest::Verb verb;
    std::string_view option;
    std::string_view argument; // how --help writes it; empty: there is none
    bool needs_admin;
    bool changes; // not with --read-only
    std::string_view help;
};
[[nodiscard]] std::span<const ActionWord> action_words();
[[nodiscard]] const ActionWord& word_of(ActionRequest::Verb verb);

// Options that may follow a verb: WHICH of its members, by the option.
struct ActionNumber {
    ActionRequest::Verb verb;
    std::string_view option;
    std::uint64_t ActionRequest::*member;
    std::string_view help;
};
struct ActionFlag {
    ActionRequest::Verb verb;
    std::string_view option;
    bool ActionRequest::*member;
    std::string_view help;
};
inline constexpr std::string_view part_option = "--part";         // of `create`, may be repeated
inline constexpr std::string_view set_only_option = "--set-only"; // likewise
[[nodiscard]] std::span<const ActionNumber> action_numbers();
[[nodiscard]] std::span<const ActionFlag> action_flags();

inline constexpr std::string_view part_suffix = ".part0";

// Of `create`: those that are named, or one beside the pool set file in POOLSET_DIR.
[[nodiscard]] std::vector<std::string> parts_of(const ActionRequest& request,
                                                const std::filesystem::path& poolset_dir);

// Of what both ways to ask for it let through. EINVAL.
[[nodiscard]] Result<> check_request(const ActionRequest& request);

} // namespace rpmem::target
