// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/remote_command.hpp"

#include "common/base/shell_word.hpp"

namespace rpmem::initiator {

RemoteCommand remote_command(const Target& target, const std::string& command,
                             const Settings& settings) {
    const bool by_process = settings.ssh_transport == SshTransport::process;
    return {target.login(), command, by_process ? settings.ssh : std::string()};
}

std::string remove_command(const std::string& command, std::string_view pool_set, bool force,
                           bool remove_pool_set) {
    std::string result = command + " --remove " + shell_word(pool_set);
    if (force)
        result += " --force";
    if (remove_pool_set)
        result += " --pool-set";
    return result;
}

} // namespace rpmem::initiator
