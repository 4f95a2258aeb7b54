// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the target of the API, [user@]host[:port], which comes from pool set files and arguments.
// A target that ssh would take for an option, an invalid part, or a target that is written and read
// back differently fails.
#include "librpmem/session/ssh_arguments.hpp"
#include "librpmem/session/target.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::initiator;
using fuzz::require;

bool has_blank(std::string_view text) {
    return fuzz::has_control_character(text) || text.find(' ') != std::string_view::npos;
}

void check_written(const Target& target) {
    if (target.host.find(']') != std::string::npos)
        return; // it would end the brackets below
    const std::string text =
        fmt::format("{}{}[{}]{}", target.user, target.user.empty() ? "" : "@", target.host,
                    target.port ? ":" + std::to_string(*target.port) : "");
    const auto again = parse_target(text);
    require(again && again->user == target.user && again->host == target.host &&
                again->port == target.port,
            "a target is read again as it was");
}

// ssh must not take a part of a target for an option.
void check_arguments(const Target& target) {
    const auto arguments = ssh_arguments("ssh", target, false, "rpmemd");
    require(arguments.size() >= 2 && arguments[arguments.size() - 2] == target.login(),
            "the login comes before the command");
    require(!target.login().starts_with('-'), "the login is no option");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of_input(data, size);
    const auto target = parse_target(text);
    if (fuzz::is_refused(target, {EINVAL}))
        return 0;
    require(!target->host.empty() && !target->host.starts_with('-') && !has_blank(target->host),
            "the host is a word, and no option");
    require(!target->user.starts_with('-') && !has_blank(target->user),
            "the user is a word, and no option");
    require(target->user.find('@') == std::string::npos &&
                target->host.find('@') == std::string::npos,
            "one '@' stands between user and host");
    require(!target->port || *target->port != 0, "the port is not 0");
    check_written(*target);
    check_arguments(*target);
    return 0;
}
