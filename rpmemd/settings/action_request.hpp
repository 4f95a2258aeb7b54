// SPDX-License-Identifier: BSD-3-Clause
// An action that rpmemd runs instead of a session, see rpmemd/actions/run_action.hpp. The tables
// here define its words for the command line and for the grammar of forced commands.
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

inline constexpr std::size_t max_requested_parts = 64;

struct ActionRequest {
    enum class Verb {
        list,
        info,
        check,
        check_all,
        sessions,
        evict,
        digest,
        create,
        mark_equal,
        accept,
        take,
    };

    Verb verb = Verb::list;
    std::string name{}; // name of the pool set, or id of the session
    // Only for digest:
    std::uint64_t chunk = 0;  // bytes of the pool for one digest; 0 for the default
    std::uint64_t length = 0; // bytes of the pool; 0 for all
    bool except = false;      // standard input lists ranges to exclude
    // Only for create:
    std::uint64_t size = 0;
    std::vector<std::string> parts{}; // if empty, one part next to the pool set file
    bool no_headers = false;
    bool set_only = false; // write the pool set file without creating the pool
    // Only for mark_equal:
    std::string claim{};          // see claim_text()
    bool forget_accepted = false; // also forget that an operator has accepted the pool
    // Only for take:
    bool accept_loss = false; // take a pool that may lack acknowledged writes

    bool operator==(const ActionRequest&) const = default;
};

// The option of a verb, and what it requires of a forced command.
struct ActionWord {
    ActionRequest::Verb verb;
    std::string_view option;
    std::string_view argument; // placeholder in --help; empty if the option has no argument
    bool needs_admin;          // requires --allow-admin
    bool changes;              // not allowed with --read-only
    std::string_view help;
};
[[nodiscard]] std::span<const ActionWord> action_words();
[[nodiscard]] const ActionWord& word_of(ActionRequest::Verb verb);

// Further options of a verb, and the member that each sets.
struct ActionText {
    ActionRequest::Verb verb;
    std::string_view option;
    std::string ActionRequest::*member;
    std::string_view argument; // for --help
    std::string_view help;
};
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
inline constexpr std::string_view part_option = "--part";         // for create; may be repeated
inline constexpr std::string_view set_only_option = "--set-only"; // for create
[[nodiscard]] std::span<const ActionText> action_texts();
[[nodiscard]] std::span<const ActionNumber> action_numbers();
[[nodiscard]] std::span<const ActionFlag> action_flags();

inline constexpr std::string_view part_suffix = ".part0";

// Returns the parts for create: those in REQUEST, or one next to the pool set file in POOLSET_DIR.
[[nodiscard]] std::vector<std::string> parts_of(const ActionRequest& request,
                                                const std::filesystem::path& poolset_dir);

// Checks a request from the command line or from a forced command. Fails with EINVAL.
[[nodiscard]] Result<> check_request(const ActionRequest& request);

} // namespace rpmem::target
