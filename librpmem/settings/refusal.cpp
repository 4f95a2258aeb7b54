// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/settings/refusal.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator {
namespace {

constexpr std::array<std::string_view, 3> protecting{"RPMEM_TLS", "RPMEM_REQUIRE_HELLO",
                                                     "RPMEM_READ_ONLY"};

} // namespace

bool protects(std::string_view setting) {
    return std::ranges::find(protecting, setting) != protecting.end();
}

std::string refusal_in(const Environment& environment) {
    for (const auto& [setting, store] : setting_table()) {
        const std::string_view given = value_in(environment, setting);
        if (protects(setting.name) && !given.empty() && !parse_setting(setting, given))
            return fmt::format("{}={}: {}; {}", setting.name, printable(given),
                               complaint_about(setting), used_instead(setting));
    }
    return {};
}

// In a program with more rights, the environment comes from a user with fewer, and librpmem would
// start the programs and read the files that it names.
Result<> may_start_programs(const Environment& environment) {
    if (::getauxval(AT_SECURE) != 0)
        return fail(
            ErrorClass::caller_fault, EPERM,
            "librpmem does not work in a program that has more rights than the user who started "
            "it (set-user-ID, set-group-ID, file capabilities: AT_SECURE in getauxval(3)); "
            "start the program as a user who may do all that it does");
    const std::string refusal = refusal_in(environment);
    return refusal.empty() ? Result<>() : Result<>(invalid("{}", refusal));
}

} // namespace rpmem::initiator
