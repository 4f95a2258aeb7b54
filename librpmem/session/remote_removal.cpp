// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/remote_removal.hpp"

#include "common/wire/hello.hpp"
#include "common/wire/removal.hpp"
#include "librpmem/session/command_end.hpp"
#include "librpmem/session/start_channel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace rpmem::initiator {
namespace {

// Exit statuses from here on are those of a shell. Smaller ones are errno values from rpmemd.
constexpr int first_of_shell = 126;

// A login shell may print before rpmemd. Only the last bytes of the output are kept.
constexpr std::size_t max_output = std::size_t{1} << 16;

// Returns the answer, or nothing if the output ends without one. Fails with ETIMEDOUT.
Result<std::optional<int>> await_answer(Channel& channel, const Deadline& deadline) {
    std::string output;
    while (true) {
        RPMEM_ASSIGN(const std::string more, channel.receive_some(deadline));
        if (more.empty())
            return std::optional<int>();
        // A login shell may print without end.
        if (deadline.passed())
            return fail(ErrorClass::link_lost, ETIMEDOUT, "no answer within the time allowed");
        output += more;
        if (const auto status = wire::find_removal(output))
            return status;
        if (output.size() > max_output)
            output.erase(0, output.size() - max_output);
    }
}

// Only a client that makes the offer gets an answer other than the exit status. A restricted rpmemd
// of an earlier version refuses the option after --remove.
std::string offered(const std::string& command, const Settings& settings) {
    return settings.offer == wire::OfferForm::option ? command
                                                     : wire::with_offer(command, settings.offer);
}

Failure refused(const Target& target, int status, const Channel& channel) {
    return fail(ErrorClass::target_refused, status, "{}",
                with_text(fmt::format("{} reports: {}", target.host, strerror(status)),
                          channel.error_text()));
}

} // namespace

Result<> run_removal(const Target& target, const std::string& command, const Settings& settings) {
    const Deadline deadline(settings.operation_timeout); // includes the login
    const auto login_time = std::min(settings.connect_timeout, settings.operation_timeout);
    auto started =
        start_channel(target, offered(command, settings), false, settings, Deadline(login_time));
    if (!started && started.error().code == ETIMEDOUT)
        started.error().text += fmt::format(" (waited {} ms; the limit is the shorter one of "
                                            "RPMEM_CONNECT_TIMEOUT and RPMEM_OPERATION_TIMEOUT)",
                                            login_time.count());
    RPMEM_ASSIGN(const auto channel, std::move(started));
    channel->end_input();
    const std::string context = fmt::format("command on {} ({} ms, RPMEM_OPERATION_TIMEOUT)",
                                            target.host, settings.operation_timeout.count());
    RPMEM_ASSIGN(const auto answer, in_context(context, await_answer(*channel, deadline)));
    if (answer) {
        static_cast<void>(channel->finish(Deadline(end_time)));
        return *answer == 0 ? Result<>() : Result<>(refused(target, *answer, *channel));
    }
    RPMEM_ASSIGN(const auto status, in_context(context, channel->finish(deadline)));
    if (!status.known)
        return fail(ErrorClass::link_lost, ECONNRESET, "{}",
                    with_text(fmt::format("whether {} removed the pool is not known: its rpmemd "
                                          "answers by its exit status only, which this program "
                                          "has collected (SIGCHLD is ignored, or wait(2) was "
                                          "called for any child)",
                                          target.host),
                              channel->error_text()));
    if (status.signal == 0 && status.code == 0)
        return {};
    // A status of the shell is not an errno value. It becomes ECONNRESET, as in rpmem_create().
    if (status.signal == 0 && status.code > 0 && status.code < first_of_shell)
        return refused(target, status.code, *channel);
    return fail(ErrorClass::link_lost, ECONNRESET, "{}",
                describe_end(remote_command(target, command, settings), status, "",
                             {false, channel->error_text()}));
}

} // namespace rpmem::initiator
