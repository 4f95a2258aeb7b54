// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes SSH_ORIGINAL_COMMAND, the command of a client whose key has a forced command. A byte of
// flags selects the options of the forced command. A client that gets a right which its key does
// not have, or a command that is ignored without a warning, fails.
#include "rpmemd/settings/forced_command.hpp"

#include "librpmem/session/remote_command.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::initiator;
using namespace rpmem::target;
using fuzz::require;

// The command that librpmem sends for the same request must be parsed to the same request.
void check_sent(const ClientCommand& command) {
    require(command.action == ClientCommand::Action::act || command.request == ActionRequest{},
            "only an action has a request");
    require(command.action != ClientCommand::Action::act || check_request(command.request),
            "a request that is understood is one");
    if (command.action != ClientCommand::Action::remove)
        return;
    constexpr std::size_t max_name = 4095;
    require(!command.pool_set.empty() && command.pool_set.size() <= max_name &&
                command.pool_set.front() != '-' && !fuzz::has_control_character(command.pool_set),
            "the name of a pool set is one");
    const auto again = parse_client_command(
        remove_command("rpmemd", command.pool_set, command.force, command.remove_pool_set));
    require(again && again->action == command.action && again->pool_set == command.pool_set &&
                again->force == command.force && again->remove_pool_set == command.remove_pool_set,
            "the daemon understands librpmem's command for the same admitted");
}

Configuration forced(unsigned flags) {
    Configuration configuration{};
    configuration.restricted = (flags & 1) != 0;
    configuration.allow_remove = (flags & 2) != 0;
    configuration.read_only = (flags & 4) != 0;
    configuration.allow_outside = (flags & 8) != 0;
    configuration.probe = (flags & 16) != 0;
    configuration.allow_admin = (flags & 32) != 0;
    return configuration;
}

void check_obeyed(const std::string& original, const Configuration& before) {
    Configuration after = before;
    const auto admitted = admit(original.c_str(), after);
    require(!after.may_delete || (before.allow_remove && !before.read_only),
            "only --allow-remove lets a client delete pools");
    require(after.restricted == before.restricted && after.allow_outside == before.allow_outside &&
                after.read_only == before.read_only && after.allow_remove == before.allow_remove &&
                after.allow_admin == before.allow_admin,
            "a client changes nothing of what its key may do");
    if (!admitted) {
        fuzz::require_error(admitted.error(), {EACCES, EINVAL});
        require(!fuzz::has_control_character(admitted.error().text), "a message is printable");
        return;
    }
    require(!after.action || before.allow_admin || !word_of(after.action->verb).needs_admin,
            "only --allow-admin lets a client do what administrators do");
    require(!after.action || !before.read_only || !word_of(after.action->verb).changes,
            "a key that only reads changes nothing");
    require(!after.remove || after.may_delete, "nothing is removed that may not be deleted");
    require(admitted->warning.empty() || !before.restricted,
            "a restricted key ignores no command: it is refused");
    require(!fuzz::has_control_character(admitted->warning), "a warning is printable");
    const bool understood = parse_client_command(original.c_str()).has_value();
    require(admitted->warning.empty() == understood,
            "a command is ignored if it is not understood");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const unsigned flags = input.take_value<std::uint8_t>();
    const std::string original = input.take_text();
    const auto command = parse_client_command(original);
    if (command) {
        check_sent(*command);
    } else {
        fuzz::require_error(command.error(), {EINVAL});
    }
    check_obeyed(original, forced(flags));
    return 0;
}
