// SPDX-License-Identifier: BSD-3-Clause
// A key that can only replicate: authorized_keys(5) names the command that it runs, and sshd(8)
// leaves the client's request in SSH_ORIGINAL_COMMAND. The grammar below reads that text, and never
// a shell; nothing in it is run or expanded.
#pragma once

#include "common/base/result.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <string>
#include <string_view>

namespace rpmem::target {

struct ClientCommand {
    enum class Action { serve, remove, probe, act };

    bool knows_hello = false; // the client knows the hello
    Action action = Action::serve;
    std::string pool_set{}; // of `remove`, as are the next two
    bool force = false;
    bool remove_pool_set = false;
    ActionRequest request{}; // of `act`
    bool read_only = false;  // of `serve`: the session only reads
};

// [export RPMEMD_OFFER=1;] WORD
//       [--remove NAME [--force] [--pool-set] | --probe | [--read-only] [--offer] | VERB]
// VERB: --list | --info NAME | --check NAME | --sessions | --evict NAME
//       | --digest NAME [--chunk N] [--length N]
//       | --create-set NAME --size N [--no-headers] [--set-only] [--part NAME]...
// The last component of the path WORD is rpmemd. NAME may be quoted as librpmem does it, and does
// not begin with "-". One or more blanks stand between two words. EINVAL for all else.
[[nodiscard]] Result<ClientCommand> parse_client_command(std::string_view text);

// The part that the forced command left open, and the client's command says.
struct AdmittedCommand {
    bool knows_hello = false; // the client knows the hello
    std::string warning;      // for the log: the command was ignored. Empty: it was not
};

// Puts the client's command, ORIGINAL, into CONFIGURATION, which comes from the forced command;
// null stands for none. Then CONFIGURATION.may_delete says whether pools may be deleted at all.
// EACCES if what the client asked for is refused.
[[nodiscard]] Result<AdmittedCommand> admit(const char* original, Configuration& configuration);

} // namespace rpmem::target
