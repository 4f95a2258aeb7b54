// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/confinement/process_hardening.hpp"

#include "rpmemd/confinement/confinement.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

namespace rpmem::target {
namespace {

// sshd(8) sets these itself, and overrides what a client sends.
constexpr std::array<std::string_view, 2> kept = {"SSH_CONNECTION", "SSH_ORIGINAL_COMMAND"};

bool is_kept(std::string_view assignment) {
    const std::string_view name = assignment.substr(0, assignment.find('='));
    return std::find(kept.begin(), kept.end(), name) != kept.end() ||
           (is_sanitized() && name.ends_with("SAN_OPTIONS"));
}

} // namespace

void give_up_privileges() {
    // These calls do not fail on supported kernels, and the daemon also works without them.
    static_cast<void>(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    constexpr rlimit none{};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
    if (!is_sanitized())
        static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

Result<> forget_environment(char* const argv[]) {
    std::vector<char*> left;
    std::size_t count = 0;
    for (char** variable = environ; variable && *variable; ++variable, ++count)
        if (is_kept(*variable))
            left.push_back(*variable);
    if (left.size() == count)
        return {};
    left.push_back(nullptr);
    ::execve("/proc/self/exe", argv, left.data());
    return fail_errno(ErrorClass::resource_limit, errno,
                      "cannot execute rpmemd again without the client's environment (--restricted "
                      "needs /proc)");
}

} // namespace rpmem::target
