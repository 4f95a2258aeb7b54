// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh_arguments.hpp"

namespace rpmem::initiator {

std::vector<std::string> ssh_arguments(const std::string& ssh, const Target& target,
                                       bool force_ipv4, const std::string& command) {
    std::vector<std::string> arguments = {ssh};
    if (target.port) {
        arguments.emplace_back("-p");
        arguments.push_back(std::to_string(*target.port));
    }
    arguments.emplace_back("-T");
    if (force_ipv4)
        arguments.emplace_back("-4");
    arguments.emplace_back("-oBatchMode=yes");
    // Options of ssh_config(5) for interactive logins could replace the command, close its input,
    // or print into its output. SessionType, StdinNull and ForkAfterAuthentication exist since
    // OpenSSH 8.7, the oldest version that is supported.
    for (const char* const option :
         {"RemoteCommand=none", "StdinNull=no", "SessionType=default", "ClearAllForwardings=yes",
          "PermitLocalCommand=no", "ForkAfterAuthentication=no"})
        arguments.push_back(std::string("-o") + option);
    arguments.push_back(target.login());
    arguments.push_back(command);
    return arguments;
}

} // namespace rpmem::initiator
