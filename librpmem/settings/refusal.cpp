// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/settings/refusal.hpp"

#include <algorithm>
#include <array>

namespace rpmem::initiator {
namespace {

constexpr std::array<std::string_view, 2> protecting{"RPMEM_TLS", "RPMEM_REQUIRE_HELLO"};

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

} // namespace rpmem::initiator
