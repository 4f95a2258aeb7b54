// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/start_channel.hpp"

#include "common/base/io.hpp"
#include "librpmem/session/ssh2/ssh2_channel.hpp"
#include "librpmem/session/ssh_arguments.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace rpmem::initiator {
namespace {

class ProcessBackend final : public ChannelBackend {
public:
    explicit ProcessBackend(ChildProcess process) : process_(std::move(process)) {}
    std::optional<ExitStatus> wait(const Deadline& deadline) override {
        return process_.wait(deadline);
    }

private:
    ChildProcess process_;
};

// PROGRAM is the value of RPMEM_SSH.
Failure not_started(const std::string& program, Error error) {
    const char* const path = ::secure_getenv("PATH");
    if (error.code == ENOSYS || error.code == EPERM)
        error.text += " (pidfd_open(2) must be there: Linux 5.4 or later, and a container whose "
                      "seccomp profile allows it; RPMEM_SSH_TRANSPORT=libssh2 does without)";
    else if (error.code == ENOENT && program.find(' ') != std::string::npos)
        error.text += " (RPMEM_SSH names the program, and takes no arguments: put them into a "
                      "script, or into ssh_config)";
    else if (error.code == ENOENT && ::access(program.c_str(), F_OK) == 0)
        error.text += " (the file exists, but not the interpreter in its first line; does that "
                      "line end with a carriage return?)";
    else if (error.code == ENOENT)
        error.text += fmt::format(" (RPMEM_SSH names the program; without a '/' it is looked for "
                                  "in PATH={})",
                                  path ? path : "");
    else
        error.text += " (RPMEM_SSH names the program)";
    return Failure(std::move(error));
}

// Starts ssh with ARGUMENTS. Its standard streams are those of the channel.
Result<std::unique_ptr<Channel>> start_process_channel(const std::vector<std::string>& arguments) {
    auto channel = std::make_unique<Channel>();
    // A child made by fork(2) in the meantime would have descriptors that no listener closes. They
    // would keep ssh running after this process has ended.
    const auto no_forks = ForkListener::hold_forks();
    RPMEM_ASSIGN(auto input, make_socket_pair());
    RPMEM_ASSIGN(auto output, make_pipe());
    RPMEM_ASSIGN(auto error, make_pipe());
    auto process = ChildProcess::start(arguments, input.theirs.get(), output.write_end.get(),
                                       error.write_end.get());
    if (!process)
        return not_started(arguments[0], std::move(process).error());
    channel->connect({std::move(input.ours), std::move(output.read_end), std::move(error.read_end)},
                     std::make_unique<ProcessBackend>(std::move(*process)));
    return channel;
}

} // namespace

Result<std::unique_ptr<Channel>> start_channel(const Target& target, const std::string& command,
                                               bool force_ipv4, const Settings& settings,
                                               const Deadline& deadline) {
    if (settings.ssh_transport == SshTransport::libssh2)
        return ssh2::start_channel(target, command, force_ipv4,
                                   {settings.ssh_key, settings.ssh_known_hosts}, deadline);
    return start_process_channel(ssh_arguments(settings.ssh, target, force_ipv4, command));
}

} // namespace rpmem::initiator
