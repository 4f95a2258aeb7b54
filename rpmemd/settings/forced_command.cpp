// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/forced_command.hpp"

#include "common/base/log.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::target {
namespace {

constexpr std::string_view program = "rpmemd";
constexpr std::string_view offer_prefix = "export RPMEMD_OFFER=1;";

// Bytes of a pool set's name that a request of the protocol may have; see rpmem-protocol(7).
constexpr std::size_t most_name = 4095;

// Of the client's command in a message.
constexpr std::size_t most_shown = 200;

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// What means nothing to a shell; '~' only begins a home directory, which nobody looks up here.
bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./+,:@%~").find(c) != std::string_view::npos;
}

bool takes(std::string_view& text, std::string_view beginning) {
    if (!text.starts_with(beginning))
        return false;
    text.remove_prefix(beginning.size());
    return true;
}

// False: there is none.
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

// 'NAME', in which '\'' stands for a quote.
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

Result<std::string> take_name(std::string_view& text) {
    auto name = text.starts_with('\'') ? take_quoted(text)
                                       : Result<std::string>(std::string(take_plain_word(text)));
    if (name && (name->empty() || name->front() == '-' || name->size() > most_name))
        return invalid("what follows --remove is no name of a pool set");
    return name;
}

// Takes " WORD" if that comes next, as a whole word.
bool takes_option(std::string_view& text, std::string_view option) {
    std::string_view rest = text;
    if (!skip_blanks(rest) || take_plain_word(rest) != option ||
        !(rest.empty() || rest.front() == ' '))
        return false;
    text = rest;
    return true;
}

Failure refused(std::string what) { return fail(ErrorClass::caller_fault, EACCES, "{}", what); }

// What the client's command asks for, unless the forced command itself is no session.
void take_over(const ClientCommand& command, Configuration& configuration) {
    if (configuration.remove || configuration.probe)
        return;
    configuration.probe = command.action == ClientCommand::Action::probe;
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
    const std::string shown = printable(original.substr(0, most_shown));
    if (configuration.restricted)
        return refused(
            fmt::format("the command \"{}\" is refused: {}; this key can only replicate "
                        "(--restricted in the command of its line in authorized_keys), so "
                        "RPMEM_CMD of the client must be rpmemd without options",
                        shown, command.error().text));
    return AdmittedCommand{
        original.starts_with(offer_prefix),
        fmt::format("the client's command \"{}\" is ignored: {}; rpmemd was started by "
                    "another one (command= in authorized_keys, or ForceCommand)",
                    shown, command.error().text)};
}

} // namespace

Result<ClientCommand> parse_client_command(std::string_view text) {
    ClientCommand command;
    if (std::any_of(text.begin(), text.end(), is_control))
        return invalid("there are control characters in it");
    if (takes(text, offer_prefix)) {
        command.knows_hello = true;
        skip_blanks(text);
    }
    const std::string_view word = take_plain_word(text);
    if (word.substr(word.rfind('/') + 1) != program)
        return invalid("it does not begin with rpmemd, or a path to it");
    if (takes_option(text, "--probe")) {
        command.action = ClientCommand::Action::probe;
    } else if (takes_option(text, "--remove")) {
        command.action = ClientCommand::Action::remove;
        skip_blanks(text);
        RPMEM_ASSIGN(command.pool_set, take_name(text));
        command.force = takes_option(text, "--force");
        command.remove_pool_set = takes_option(text, "--pool-set");
    }
    if (!text.empty())
        return invalid("only --remove NAME [--force] [--pool-set] or --probe may follow rpmemd");
    return command;
}

Result<AdmittedCommand> admit(const char* original, Configuration& configuration) {
    const bool forced = original != nullptr || configuration.restricted;
    configuration.may_delete = !configuration.read_only && (configuration.allow_remove || !forced);
    if (configuration.restricted && configuration.allow_outside)
        return invalid("--restricted keeps a key within poolset-dir, and poolset-outside lets it "
                       "leave that; take one of them away");
    if (configuration.restricted && !original)
        return refused("a login without a command is refused: this key can only replicate "
                       "(--restricted in the command of its line in authorized_keys)");
    auto admitted = original ? read_client_command(original, configuration)
                             : Result<AdmittedCommand>(AdmittedCommand{});
    if (admitted && configuration.remove && !configuration.may_delete)
        return refused("this key may not delete pools; --allow-remove in the command of its line "
                       "in authorized_keys, without --read-only, lets it");
    return admitted;
}

} // namespace rpmem::target
