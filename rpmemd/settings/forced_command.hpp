// SPDX-License-Identifier: BSD-3-Clause
// Forced commands. For a key that may only replicate, authorized_keys(5) names the command that
// sshd(8) runs, and sshd puts the command of the client into SSH_ORIGINAL_COMMAND. That text is
// parsed with the grammar below. No shell reads it, so nothing in it is executed or expanded.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>
#include <string_view>

namespace rpmem::target {

struct ClientCommand {
    enum class Action { serve, remove, probe, act };

    bool knows_hello = false; // the command has RPMEMD_OFFER=1 or --offer
    Action action = Action::serve;
    // For remove:
    std::string pool_set{};
    bool force = false;
    bool remove_pool_set = false;
    // For act:
    ActionRequest request{};
    // For serve:
    bool read_only = false; // the session only reads
};

// [export RPMEMD_OFFER=1;] WORD
//       [--remove NAME [--force] [--pool-set] | --probe | [--read-only] [--offer] | VERB]
// VERB: --list | --info NAME | --check NAME | --check-all | --sessions | --evict NAME
//       | --digest NAME [--chunk N] [--length N] [--except]
//       | --create-set NAME --size N [--no-headers] [--set-only] [--part NAME]...
//       | --mark-equal NAME --claim NAME [--forget-accepted] | --accept NAME
//       | --take NAME [--accept-loss]
// The last component of the path WORD is rpmemd. NAME may be in single quotes as librpmem writes
// them, and does not begin with "-". Words are separated by one or more blanks. The options of a
// verb have the order above. Fails with EINVAL for any other text.
[[nodiscard]] Result<ClientCommand> parse_client_command(std::string_view text);

struct AdmittedCommand {
    bool knows_hello = false; // the client's command has RPMEMD_OFFER=1 or --offer
    std::string warning;      // why the client's command was ignored, or empty
};

// Applies ORIGINAL, the client's command or null, to CONFIGURATION, which comes from the forced
// command. Also sets may_delete, stays_beneath and sees_sessions. Fails with EACCES if the request
// of the client is refused, and with EINVAL if the settings of the forced command conflict.
[[nodiscard]] Result<AdmittedCommand> admit(const char* original, Configuration& configuration);

} // namespace rpmem::target
