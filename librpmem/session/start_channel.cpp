#include "librpmem/session/start_channel.hpp"

#include "librpmem/session/remote_command.hpp"
#include "librpmem/session/ssh2/ssh2_channel.hpp"

namespace rpmem::initiator {

Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Settings& settings,
                                               const Deadline& deadline) {
    if (settings.ssh_transport == SshTransport::libssh2)
        return ssh2::start_channel(target, command, force_ipv4,
                                   {settings.ssh_key, settings.ssh_known_hosts}, deadline);
    return start_process_channel(ssh_arguments(settings.ssh, target, force_ipv4, command));
}

} // namespace rpmem::initiator
