// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/forced_command.hpp"

#include "common/base/log.hpp"
#include "common/base/shell_word.hpp"
#include "common/base/text.hpp"
#include "common/wire/hello.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::target {
namespace {

constexpr std::string_view program = "rpmemd";
constexpr std::string_view offer_prefix = "export RPMEMD_OFFER=1;";
constexpr std::string_view offer_suffix = " --offer";

// Maximum size of the name of a pool set in the protocol; see rpmem-protocol(7).
constexpr std::size_t max_name = 4095;

// Maximum size of the client's command in an error text.
constexpr std::size_t max_shown = 200;

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// '~' is accepted, too: a shell would expand it, but nothing is expanded here.
bool is_plain(char c) { return c == '~' || is_plain_in_shell(c); }

bool takes(std::string_view& text, std::string_view beginning) {
    if (!text.starts_with(beginning))
        return false;
    text.remove_prefix(beginning.size());
    return true;
}

// Returns whether there were blanks.
bool skip_blanks(std::string_view& text) {
    const auto end = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(end);
    return end > 0;
}

std::string_view take_plain_word(std::string_view& text) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_plain);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(word.size());
    return word;
}

// Parses 'NAME', in which '\'' stands for a quote.
Result<std::string> take_quoted(std::string_view& text) {
    constexpr std::string_view escaped_quote = "'\\''";
    std::string name;
    text.remove_prefix(1);
    while (!text.empty()) {
        if (takes(text, escaped_quote)) {
            name += '\'';
        } else if (takes(text, "'")) {
            return name;
        } else {
            name += text.front();
            text.remove_prefix(1);
        }
    }
    return invalid("a quote is not closed");
}

// OPTION is the option before the name, for the error text.
Result<std::string> take_name(std::string_view& text, std::string_view option) {
    skip_blanks(text);
    auto name = text.starts_with('\'') ? take_quoted(text)
                                       : Result<std::string>(std::string(take_plain_word(text)));
    if (name && (name->empty() || name->front() == '-' || name->size() > max_name))
        return invalid("{} needs a name of 1 to {} bytes that does not begin with \"-\", but has "
                       "\"{}\" ({} bytes)",
                       option, max_name, printable(name->substr(0, max_name)), name->size());
    return name;
}

// Consumes the next word if it is OPTION, and returns whether it was.
bool takes_option(std::string_view& text, std::string_view option) {
    std::string_view rest = text;
    if (!skip_blanks(rest) || take_plain_word(rest) != option ||
        !(rest.empty() || rest.front() == ' '))
        return false;
    text = rest;
    return true;
}

Result<std::uint64_t> take_number(std::string_view& text, std::string_view option) {
    skip_blanks(text);
    const std::string_view word = take_plain_word(text);
    const auto number = parse_number<std::uint64_t>(word);
    if (!number)
        return invalid("{} needs a number, but has \"{}\"", option, printable(word));
    return *number;
}

// Parses the further options of a verb, in the order of the tables.
Result<> take_rest(std::string_view& text, ActionRequest& request) {
    for (const ActionText& each : action_texts())
        if (each.verb == request.verb && takes_option(text, each.option)) {
            RPMEM_ASSIGN(request.*each.member, take_name(text, each.option));
        }
    for (const ActionNumber& each : action_numbers())
        if (each.verb == request.verb && takes_option(text, each.option)) {
            RPMEM_ASSIGN(request.*each.member, take_number(text, each.option));
        }
    for (const ActionFlag& each : action_flags())
        if (each.verb == request.verb && takes_option(text, each.option))
            request.*each.member = true;
    while (request.verb == ActionRequest::Verb::create && takes_option(text, part_option) &&
           request.parts.size() <= max_requested_parts) {
        RPMEM_ASSIGN(auto part, take_name(text, part_option));
        request.parts.push_back(std::move(part));
    }
    return {};
}

// Parses a verb with its options, if one comes next.
Result<> take_action(std::string_view& text, ClientCommand& command) {
    for (const ActionWord& word : action_words()) {
        if (!takes_option(text, word.option))
            continue;
        command.action = ClientCommand::Action::act;
        command.request.verb = word.verb;
        if (!word.argument.empty()) {
            RPMEM_ASSIGN(command.request.name, take_name(text, word.option));
        }
        RPMEM_TRY(take_rest(text, command.request));
        return check_request(command.request);
    }
    return {};
}

Failure refused(std::string what) { return fail(ErrorClass::caller_fault, EACCES, "{}", what); }

// The origin of a forced command, for error texts. It names both possible places, because sshd does
// not report which one it was.
constexpr const char* its_command =
    "the command that sshd runs for this login (command= in authorized_keys, or ForceCommand in "
    "sshd_config)";

// Returns whether the forced command has executed the client's command, as a wrapper that writes a
// log does. SSH_ORIGINAL_COMMAND is set then, too. Such a client chooses all options itself, so
// refusing its action would protect nothing.
bool runs_clients_command(const char* original, const Configuration& configuration) {
    if (!original || configuration.restricted)
        return false;
    const auto command = parse_client_command(original);
    if (!command)
        return false;
    if (configuration.remove)
        return command->action == ClientCommand::Action::remove &&
               command->pool_set == *configuration.remove;
    return configuration.action && command->action == ClientCommand::Action::act &&
           command->request == *configuration.action;
}

// Applies the client's command, unless the forced command itself replaces a session.
void take_over(const ClientCommand& command, Configuration& configuration) {
    if (configuration.remove || configuration.probe || configuration.action)
        return;
    if (command.action == ClientCommand::Action::act)
        configuration.action = command.request;
    configuration.probe = command.action == ClientCommand::Action::probe;
    if (command.read_only) {
        configuration.read_only = true;
        configuration.may_delete = false;
    }
    if (command.action != ClientCommand::Action::remove)
        return;
    configuration.remove = command.pool_set;
    configuration.force = command.force;
    configuration.remove_pool_set = command.remove_pool_set;
}

Result<AdmittedCommand> read_client_command(const std::string& original,
                                            Configuration& configuration) {
    const auto command = parse_client_command(original);
    if (command) {
        take_over(*command, configuration);
        return AdmittedCommand{command->knows_hello, {}};
    }
    const std::string shown = printable(original.substr(0, max_shown));
    if (configuration.restricted)
        return refused(
            fmt::format("the command \"{}\" is refused: {}; this login can only replicate "
                        "(--restricted in {}), so RPMEM_CMD of the client must be rpmemd without "
                        "options",
                        shown, command.error().text, its_command));
    return AdmittedCommand{
        original.starts_with(offer_prefix) || original.ends_with(offer_suffix),
        fmt::format("the client's command \"{}\" is ignored: {}; {} started rpmemd", shown,
                    command.error().text, its_command)};
}

// A pool set that is created with a forced command has one part, next to the pool set file and
// created with it. A pool set file that names a missing part would be a trap: a file that another
// program creates there later would become the part.
Result<> check_may_create(const ActionRequest& request) {
    if (!request.parts.empty() || request.set_only)
        return refused(fmt::format(
            "this login may not use {}: {} started rpmemd, so a new part must be in the pool set "
            "directory and be created at once; log in with a key without such a command",
            request.set_only ? set_only_option : part_option, its_command));
    return {};
}

Result<> check_may_act(const Configuration& configuration, bool forced) {
    const ActionWord& word = word_of(configuration.action->verb);
    if (word.needs_admin && forced && !configuration.allow_admin)
        return refused(fmt::format("this login may not use {}; --allow-admin in {} allows it",
                                   word.option, its_command));
    if (word.changes && configuration.read_only)
        return refused(fmt::format("{} is refused: --read-only changes nothing", word.option));
    if (word.verb == ActionRequest::Verb::create && forced)
        return check_may_create(*configuration.action);
    return {};
}

} // namespace

Result<ClientCommand> parse_client_command(std::string_view text) {
    ClientCommand command;
    if (std::any_of(text.begin(), text.end(), is_control))
        return invalid("it contains control characters");
    if (takes(text, offer_prefix)) {
        command.knows_hello = true;
        skip_blanks(text);
    }
    const std::string_view word = take_plain_word(text);
    if (word.substr(word.rfind('/') + 1) != program)
        return invalid("it does not begin with rpmemd, or a path to it");
    if (takes_option(text, "--probe")) {
        command.action = ClientCommand::Action::probe;
    } else if (takes_option(text, "--read-only")) {
        command.read_only = true;
    } else if (takes_option(text, "--remove")) {
        command.action = ClientCommand::Action::remove;
        RPMEM_ASSIGN(command.pool_set, take_name(text, "--remove"));
        command.force = takes_option(text, "--force");
        command.remove_pool_set = takes_option(text, "--pool-set");
    } else {
        RPMEM_TRY(take_action(text, command));
    }
    if (command.action == ClientCommand::Action::serve && takes_option(text, wire::offer_option))
        command.knows_hello = true;
    if (!text.empty())
        return invalid("only --remove NAME [--force] [--pool-set], --probe, --read-only or an "
                       "action such as --list may follow rpmemd");
    return command;
}

Result<AdmittedCommand> admit(const char* original, Configuration& configuration) {
    const bool forced = (original != nullptr && !runs_clients_command(original, configuration)) ||
                        configuration.restricted;
    configuration.may_delete = !configuration.read_only && (configuration.allow_remove || !forced);
    configuration.stays_beneath = forced;
    configuration.sees_sessions = configuration.allow_admin || !forced;
    if (configuration.allow_outside && (configuration.restricted || configuration.allow_admin))
        return invalid("{} limits a key to poolset-dir, but poolset-outside lets it leave that; "
                       "remove one of them",
                       configuration.restricted ? "--restricted" : "--allow-admin");
    if (configuration.restricted && !original)
        return refused(fmt::format("a login without a command is refused: it can only replicate "
                                   "(--restricted in {})",
                                   its_command));
    auto admitted = original ? read_client_command(original, configuration)
                             : Result<AdmittedCommand>(AdmittedCommand{});
    if (admitted && configuration.remove && !configuration.may_delete)
        return refused(fmt::format("this login may not delete pools; --allow-remove in {}, without "
                                   "--read-only, allows it",
                                   its_command));
    if (admitted && configuration.action)
        RPMEM_TRY(check_may_act(configuration, forced));
    return admitted;
}

} // namespace rpmem::target
