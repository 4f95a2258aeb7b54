// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh_destination.hpp"

#include "common/base/child_process.hpp"
#include "common/base/io.hpp"
#include "common/base/text.hpp"
#include "librpmem/session/ssh_arguments.hpp"

#include <fcntl.h>

#include <algorithm>
#include <vector>

namespace rpmem::initiator {
namespace {

// ssh only reads its configuration, unless a Match in it runs a command.
constexpr std::chrono::milliseconds max_answer_time(2000);

// The usual size is some kilobytes.
constexpr std::size_t largest_answer = std::size_t{1} << 16;

// Maximum length of a DNS name.
constexpr std::size_t max_host = 255;

} // namespace

std::optional<SshDestination> read_destination(std::string_view output) {
    SshDestination destination{{}, false};
    while (!output.empty()) {
        std::string_view value = take_until(output, "\n");
        const std::string_view name = take_until(value, " ");
        if (name == "hostname")
            destination.host = value;
        if ((name == "proxyjump" || name == "proxycommand") && value != "none")
            destination.is_proxied = true;
    }
    if (destination.host.empty() || destination.host.size() > max_host)
        return std::nullopt;
    return destination;
}

std::optional<SshDestination> ask_ssh(const std::string& ssh, const Target& target, bool force_ipv4,
                                      std::chrono::milliseconds time) {
    const Deadline deadline(std::min(time, max_answer_time));
    std::vector<std::string> arguments = ssh_arguments(ssh, target, force_ipv4, "");
    arguments.pop_back(); // no command
    arguments.insert(arguments.begin() + 1, "-G");
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto output = make_pipe();
    if (!nothing || !output)
        return std::nullopt;
    auto process =
        ChildProcess::start(arguments, nothing.get(), output->write_end.get(), nothing.get());
    output->write_end.reset();
    if (!process)
        return std::nullopt;
    std::string text(largest_answer, '\0');
    const auto got =
        read_fully(output->read_end.get(), std::as_writable_bytes(std::span(text)), deadline);
    if (!got)
        return std::nullopt;
    text.resize(*got);
    const auto status = process->wait(deadline);
    if (!status || (status->known && (status->code != 0 || status->signal != 0)))
        return std::nullopt;
    return read_destination(text);
}

} // namespace rpmem::initiator
