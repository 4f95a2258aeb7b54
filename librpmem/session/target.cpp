// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/target.hpp"

#include "common/base/text.hpp"

#include <algorithm>

namespace rpmem::initiator {
namespace {

Failure bad_target(std::string_view text, std::string_view why) {
    return invalid("the target '{}' is not [user@]host[:port] or [user@][IPv6 address][:port]: {}",
                   text, why);
}

// Whether ssh(1) would take WORD for an option, or WORD contains blanks or control characters.
bool is_unsafe(std::string_view word) {
    return word.starts_with('-') || std::any_of(word.begin(), word.end(), [](unsigned char c) {
               return c <= ' ' || c == 0x7f;
           });
}

} // namespace

Result<Target> parse_target(std::string_view text) {
    Target target;
    std::string_view rest = text;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        target.user = rest.substr(0, at);
        if (target.user.empty())
            return bad_target(text, "there is no user before '@'");
        // ssh(1) would take everything before the last '@' for the user, and fail only after the
        // whole login time.
        if (target.user.find('@') != std::string::npos)
            return bad_target(text, "there is more than one '@' (a user's name with '@' can be "
                                    "given as User in ssh_config)");
        rest.remove_prefix(at + 1);
    }
    std::optional<std::string_view> port;
    if (rest.starts_with('[')) {
        const auto bracket = rest.find(']');
        if (bracket == std::string_view::npos)
            return bad_target(text, "']' is missing");
        target.host = rest.substr(1, bracket - 1);
        rest.remove_prefix(bracket + 1);
        if (!rest.empty() && rest.front() != ':')
            return bad_target(text, "only ':port' may follow ']'");
        if (!rest.empty())
            port = rest.substr(1);
    } else if (std::count(rest.begin(), rest.end(), ':') >= 2) {
        target.host = rest;
    } else {
        const auto colon = rest.find(':');
        target.host = rest.substr(0, colon);
        if (colon != std::string_view::npos)
            port = rest.substr(colon + 1);
    }
    if (target.host.empty())
        return bad_target(text, "there is no host");
    if (is_unsafe(target.host) || is_unsafe(target.user))
        return bad_target(text, "user and host must not begin with '-' or contain blanks");
    if (port) {
        target.port = parse_number<std::uint16_t>(*port);
        if (target.port.value_or(0) == 0)
            return bad_target(text, "the port must be a number from 1 to 65535");
    }
    return target;
}

} // namespace rpmem::initiator
