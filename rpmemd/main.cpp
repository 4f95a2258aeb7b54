// SPDX-License-Identifier: BSD-3-Clause
// The program rpmemd, which ssh starts on the target; see rpmemd(1).
#include "common/base/io.hpp"
#include "common/base/program_output.hpp"
#include "common/base/version.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/removal.hpp"
#include "rpmemd/actions/run_action.hpp"
#include "rpmemd/confinement/process_hardening.hpp"
#include "rpmemd/pool_options.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/probe.hpp"
#include "rpmemd/registry/find_record.hpp"
#include "rpmemd/registry/state_directory.hpp"
#include "rpmemd/session/control_loop.hpp"
#include "rpmemd/session/handshake.hpp"
#include "rpmemd/settings/forced_command.hpp"
#include "rpmemd/settings/options.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

namespace {

using namespace rpmem;

constexpr std::chrono::seconds write_time(10);
constexpr std::chrono::seconds document_time(60); // megabytes may be sent over a slow link

void say(const std::string& text) {
    const std::string line = printable("rpmemd: " + text) + "\n";
    (void)write_fully(STDERR_FILENO, std::as_bytes(std::span(line)), Deadline(write_time));
}

bool send_status(int status) {
    return write_fully(STDOUT_FILENO, wire::encode_initial_status(status), Deadline(write_time))
        .has_value();
}

Log open_log(const target::Configuration& configuration) {
    if (configuration.use_syslog)
        return Log::to_syslog("rpmemd", configuration.log_level);
    auto log = Log::to_file(configuration.log_file, configuration.log_level);
    if (log)
        return std::move(*log);
    // A daemon that cannot open its log still serves. The error does not go to standard error,
    // because the client would report it as the reason of any later failure.
    Log instead = Log::to_syslog("rpmemd", configuration.log_level);
    instead.error("{}; the log goes to syslog", log.error().text);
    return instead;
}

// OFFERED: the client knows more than protocol 0.1. A client of 1.12.1 takes any output for an
// error.
int remove(const target::Configuration& configuration, bool offered, Log& log) {
    auto options = target::pool_options_of(configuration);
    const auto state = target::StateDirectory::open(configuration.state_dir);
    if (state)
        options.header_copies = state->fd();
    const auto removed =
        target::check_removal(options, *configuration.remove, state ? &*state : nullptr)
            .and_then([&] {
                return target::remove_pool(
                    options, *configuration.remove,
                    {configuration.force, configuration.remove_pool_set, say}, log);
            });
    const int status = removed ? EXIT_SUCCESS : removed.error().code;
    if (!removed) {
        log.error("{}", removed.error().text);
        say(removed.error().text);
    }
    // Also sends the status as text, because ssh reports the exit status only after every process
    // of the login has ended.
    const std::string answer = wire::encode_removal(status);
    if (offered)
        static_cast<void>(
            write_fully(STDOUT_FILENO, std::as_bytes(std::span(answer)), Deadline(write_time)));
    return status;
}

// Raises the limit of descriptors, because a lane uses several. An error is ignored: the call that
// runs out of descriptors reports it.
void allow_many_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

// OFFERED: the client knows the hello.
int serve(const target::Configuration& configuration, bool offered, Log& log) {
    allow_many_descriptors();
    const auto addresses = target::addresses_of(std::getenv("SSH_CONNECTION"));
    target::NodeCapabilities capabilities = target::find_capabilities(
        target::arrival_addresses(addresses.own, configuration.addresses), configuration.device);
    target::limit(capabilities, configuration);
    if (!capabilities.why_not_verbs.empty())
        log.info("verbs is not offered: {}", capabilities.why_not_verbs);
    auto handshake = target::exchange_hello(offered ? wire::offer_value : nullptr, capabilities,
                                            STDIN_FILENO, STDOUT_FILENO);
    if (!handshake) {
        log.error("{}", handshake.error().text);
        say(handshake.error().text);
        return EXIT_FAILURE;
    }
    const target::Channel channel{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, addresses};
    return target::serve_session(configuration, channel, std::move(*handshake), log);
}

// Returns whether an invalid command line was not meant for a session. Then the exit status is the
// answer, and no client reads a status on standard output.
bool asks_for_no_session(int argc, const char* const argv[]) {
    return std::any_of(argv + std::min(argc, 1), argv + argc, [](std::string_view argument) {
        return argument == "-r" || argument.starts_with("--remove") || argument == "--probe" ||
               argument == "--check-config" ||
               std::ranges::any_of(target::action_words(), [&](const target::ActionWord& word) {
                   return argument.starts_with(word.option);
               });
    });
}

// Reports ERROR by the status on standard output, which a client of a session reads, and by the
// exit status, which other clients read.
int refuse(const target::Configuration& configuration, const Error& error) {
    open_log(configuration).error("{}", error.text);
    say(error.text);
    if (!configuration.action && !configuration.remove) // their answer is the exit status
        send_status(error.code);
    return error.code;
}

// Prints the result of an action or of an option such as --probe, which is served without a
// session. Returns STATUS, or an errno value if the text cannot be written.
int print_document(const std::string& text, int status) {
    const auto written =
        write_fully(STDOUT_FILENO, std::as_bytes(std::span(text)), Deadline(document_time));
    if (written)
        return status;
    say("standard output: " + written.error().text);
    return written.error().code;
}

int act(const target::Configuration& configuration, Log& log) {
    const auto outcome = target::run_action(configuration, log);
    return print_document(outcome.document, outcome.status);
}

int probe(const target::Configuration& configuration) {
    allow_many_descriptors();
    const auto addresses = target::addresses_of(std::getenv("SSH_CONNECTION"));
    return print_document(target::probe(configuration, addresses.own, product_version()),
                          EXIT_SUCCESS);
}

int run(int argc, char* argv[]) {
    auto parsed = target::parse_command_line(
        argc, argv, target::process_environment(describe_version("rpmemd")));
    if (!parsed) {
        say(parsed.error().text);
        if (asks_for_no_session(argc, argv))
            return parsed.error().code;
        // The command line may have been meant for a session, so a client may wait for the status.
        send_status(parsed.error().code);
        return EXIT_FAILURE;
    }
    if (const auto* exit = std::get_if<target::ExitRequest>(&*parsed)) {
        return print_document(exit->text, exit->status);
    }
    auto& configuration = std::get<target::Configuration>(*parsed);
    const auto admitted = target::admit(std::getenv("SSH_ORIGINAL_COMMAND"), configuration);
    if (!admitted)
        return refuse(configuration, admitted.error());
    if (configuration.probe)
        return probe(configuration);
    Log log = open_log(configuration);
    if (!admitted->warning.empty()) {
        log.warning("{}", admitted->warning);
        say(admitted->warning);
    }
    for (const std::string& warning : configuration.warnings)
        log.warning("{}", warning);
    if (configuration.action)
        return act(configuration, log);
    const char* const offer = std::getenv(wire::offer_variable);
    const bool offered = admitted->knows_hello || configuration.offers ||
                         (offer && std::string_view(offer) == wire::offer_value);
    return configuration.remove ? remove(configuration, offered, log)
                                : serve(configuration, offered, log);
}

} // namespace

int main(int argc, char* argv[]) {
    ignore_signals_of_writes();
    // The umask must not take rights from this user, who could otherwise not open new parts again.
    static_cast<void>(::umask(::umask(S_IRWXG | S_IRWXO) & (S_IRWXG | S_IRWXO)));
    try {
        const bool restricted = std::any_of(argv, argv + argc, [](std::string_view argument) {
            return argument == "--restricted" || argument.starts_with("--restricted=");
        });
        if (restricted)
            if (const auto forgotten = target::forget_environment(argv); !forgotten) {
                say(forgotten.error().text);
                return EXIT_FAILURE;
            }
        target::give_up_privileges();
        return run(argc, argv);
    } catch (const std::bad_alloc&) {
        say("this process has no memory left; does a limit (ulimit -v) bound it?");
        return ENOMEM; // an errno value, like those of remove()
    } catch (const std::exception& exception) {
        say(text_of(exception));
        return EXIT_FAILURE;
    }
}
