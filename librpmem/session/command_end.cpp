// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/command_end.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace rpmem::initiator {
namespace {

// Exit status of a shell for a command that it cannot run, and for one that it does not find, see
// sh(1). The status of a command that signal N has ended is 128 + N.
constexpr int shell_cannot_run = 126;
constexpr int shell_not_found = 127;
constexpr int shell_signal = 128;
constexpr int last_signal = 64;

// Number of bytes of unexpected output that are quoted, enough to recognise it.
constexpr std::size_t quoted_bytes = 160;

struct SshFailure {
    std::string_view words; // of ssh(1)
    const char* advice;
};

constexpr const char* try_by_hand = "try the same login by hand: it must work without a password";
constexpr const char* look_at_sshd =
    "the ssh server closed the connection before the login: is it overloaded (MaxStartups in its "
    "sshd_config), or does it refuse this machine?";
constexpr const char* look_at_network =
    "is the target up, is the address right, and does a firewall let ssh through?";

constexpr std::array ssh_failures = {
    SshFailure{"Could not resolve hostname",
               "the name of the target is known neither to ssh_config nor to the resolver (DNS, "
               "/etc/hosts): correct it"},
    SshFailure{"Connection refused", "does sshd run on the target, and on this port?"},
    SshFailure{"Connection timed out", look_at_network},
    SshFailure{"No route to host", look_at_network},
    SshFailure{"Network is unreachable", look_at_network},
    SshFailure{"has changed and you have requested strict checking",
               "the target has another host key than the one that this machine knows: find out who "
               "answers there; if somebody reinstalled the target, compare the new fingerprint and "
               "remove the old key with ssh-keygen -R"},
    SshFailure{"is marked as revoked",
               "the host key of the target is revoked in a known_hosts file: its owner must make "
               "another one"},
    SshFailure{"Host key verification failed",
               "log in once by hand and compare the fingerprint: the host key must be known"},
    SshFailure{"Permission denied", try_by_hand},
    SshFailure{"Too many authentication failures", try_by_hand},
    SshFailure{"kex_exchange_identification", look_at_sshd},
};

// Error text of shells that are not POSIX shells, such as csh, tcsh and rc.
constexpr std::string_view unknown_builtin = "export: ";
constexpr const char* use_the_option =
    " (the login shell of the target does not know the command export: set RPMEM_OFFER=option)";

// nologin(8) prints this on standard output.
constexpr std::string_view nologin_words = "This account is currently not available";

bool exited_with(const ExitStatus& status, int code) {
    return status.known && status.signal == 0 && status.code == code;
}

std::string signal_text(int signal) {
    const char* const name = ::sigabbrev_np(signal);
    return name ? fmt::format("signal {} (SIG{})", signal, name) : fmt::format("signal {}", signal);
}

// Describes how the command has ended, as far as its status shows that.
std::string how(const RemoteCommand& command, const ExitStatus& status,
                const CommandOutput& words) {
    if (!status.known)
        return status.text();
    if (status.signal != 0 && command.ssh.empty())
        return fmt::format("was ended by {} on the target", signal_text(status.signal));
    if (status.signal != 0)
        return fmt::format("is lost: '{}' was ended by {} on this machine", command.ssh,
                           signal_text(status.signal));
    if (status.code > shell_signal && status.code <= shell_signal + last_signal)
        return fmt::format("was ended by {} on the target",
                           signal_text(status.code - shell_signal));
    if (status.code == ssh_failed && words.spoke)
        return "ended with status 255: a signal ended it on the target, or the ssh connection "
               "broke";
    if (status.code == ssh_failed && words.error.empty())
        return "ended with status 255, and ssh does not say why: a signal ended it on the target "
               "(or LogLevel keeps ssh quiet)";
    return status.text();
}

std::string advice_for(const RemoteCommand& command, const ExitStatus& status,
                       const CommandOutput& words) {
    if (!words.spoke && words.error.find(unknown_builtin) != std::string::npos)
        return use_the_option;
    if (was_not_found(status))
        return " (install rpmemd on the target, or name it in RPMEM_CMD)";
    if (exited_with(status, ssh_failed) && !words.spoke)
        for (const SshFailure& failure : ssh_failures)
            if (words.error.find(failure.words) != std::string::npos)
                return fmt::format(" ({})", failure.advice);
    const bool is_mute = status.known && status.signal == 0 && status.code < shell_cannot_run &&
                         !words.spoke && words.error.empty();
    if (!is_mute)
        return "";
    const std::string by_ssh =
        command.ssh.empty() ? std::string()
                            : fmt::format(" RPMEM_SSH names '{}', which should run it: is that an "
                                          "ssh?",
                                          command.ssh);
    return fmt::format(" (RPMEM_CMD names the command: is it an rpmemd?{} Does the user have a "
                       "login shell on the target that runs commands, and no start-up file that "
                       "ends it?)",
                       by_ssh);
}

// Returns the first quoted_bytes of TEXT in double quotes, with the escapes of C.
std::string quote(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text.substr(0, quoted_bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n')
            quoted += "\\n";
        else if (c == '"' || c == '\\')
            quoted += std::string("\\") + c;
        else if (byte < 0x20 || byte >= 0x7f)
            quoted += fmt::format("\\x{:02x}", byte);
        else
            quoted += c;
    }
    return quoted + (text.size() > quoted_bytes ? "\"..." : "\"");
}

} // namespace

bool was_not_found(const ExitStatus& status) { return exited_with(status, shell_not_found); }

std::string describe_end(const RemoteCommand& command, const ExitStatus& status,
                         std::string_view when, const CommandOutput& words) {
    return fmt::format("the remote command '{}' {}{}{}{}{}{}", command.command,
                       how(command, status, words), when.empty() ? "" : " ", when,
                       words.error.empty() ? "" : ": ", words.error,
                       advice_for(command, status, words));
}

std::string describe_unexpected_output(const RemoteCommand& command, std::string_view noise) {
    if (noise.find(nologin_words) != std::string_view::npos)
        return fmt::format("the login shell of {} runs no commands; it is nologin(8), which says "
                           "{}: set another one there with usermod -s",
                           command.target, quote(noise));
    return fmt::format("the output of '{}' on {} does not begin as that of rpmemd: it begins with "
                       "{}. A start-up file of the target's login shell may print that "
                       "(~/.bashrc, ~/.profile): 'ssh {} true' must print nothing",
                       command.command, command.target, quote(noise), command.target);
}

std::string with_text(const std::string& message, const std::string& remote_text) {
    return remote_text.empty() ? message : message + ": " + remote_text;
}

} // namespace rpmem::initiator
