// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/confinement/confinement.hpp"

#include "rpmemd/confinement/landlock.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <ctime>

namespace rpmem::target {
namespace {

void add(std::string& list, const std::string& text, const char* separator) {
    list += list.empty() ? text : separator + text;
}

} // namespace

bool is_sanitized() {
#ifdef RPMEM_SANITIZED
    return true;
#else
    return false;
#endif
}

std::string why_not_confined() {
    if (is_sanitized())
        return "this rpmemd was built with a sanitizer, which needs more system calls and files";
    return landlock_version() == 0 ? no_landlock().text : "";
}

Confinement confine(OpenPaths reach) {
    Confinement result;
    if (is_sanitized()) {
        result.is_missing = why_not_confined();
        return result;
    }
    ::tzset(); // reads /etc/localtime, for the times in the log
    static_cast<void>(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); // main() has done it already
    std::vector<int> directories;
    for (const UniqueFd& directory : reach.directories)
        directories.push_back(directory.get());
    if (const auto done = restrict_by_landlock({.directories = directories,
                                                .may_remove = reach.may_remove,
                                                .replaced = reach.statistics}))
        add(result.holds, fmt::format("Landlock {}", landlock_version()), ", ");
    else
        add(result.is_missing, done.error().text, "; ");
    if (const auto done = restrict_system_calls({.may_remove = reach.may_remove,
                                                 .replaced = reach.statistics,
                                                 .attributed = reach.record},
                                                std::move(reach.log)))
        add(result.holds, "system calls", ", ");
    else
        add(result.is_missing, done.error().text, "; ");
    return result;
}

} // namespace rpmem::target
