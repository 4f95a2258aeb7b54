// SPDX-License-Identifier: BSD-3-Clause
// settings: prints the environment variables of the library.
#include "tools/ctl/reading.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

struct SettingFacts {
    const Setting& setting;
    std::string_view given; // empty if it is not set
    bool wrong;
    [[nodiscard]] std::string_view value() const { // the value in effect
        return given.empty() || wrong ? setting.default_value : given;
    }
};

SettingFacts facts_of(const Setting& setting) {
    const std::string_view given = initiator::value_in(std::getenv, setting);
    return {setting, given, !given.empty() && !parse_setting(setting, given)};
}

std::string describe(const SettingFacts& facts) {
    const auto& [setting, given, wrong] = facts;
    std::string text = fmt::format(
        "{}={}{}\n    {}", setting.name, printable(given.empty() ? setting.default_value : given),
        given.empty() ? "   (default)" : "   (environment)", setting.help);
    if (const std::string allowed = allowed_values(setting); !allowed.empty())
        text += "; " + allowed;
    if (!given.empty() && !setting.default_value.empty())
        text += fmt::format("; default {}", setting.default_value);
    text += '\n';
    if (wrong)
        text += fmt::format("    WRONG: {}; {}\n", complaint_about(setting),
                            initiator::used_instead(setting));
    return text;
}

json json_of(const SettingFacts& facts) {
    const Setting& setting = facts.setting;
    return {{"name", setting.name},
            {"value", facts.value()},
            {"origin", facts.given.empty() || facts.wrong ? "default" : "environment"},
            {"given", facts.given},
            {"default", setting.default_value},
            {"allowed", allowed_values(setting)},
            {"help", setting.help},
            {"problem", facts.wrong ? complaint_about(setting) : std::string()}};
}

// Returns the variables RPMEM_... that the library does not know, because their names may be
// mistyped. Variables of rpmemd have other prefixes.
std::vector<std::string> unknown_variables() {
    constexpr std::string_view prefix = "RPMEM_";
    std::vector<std::string> unknown;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view entry(*each);
        const std::string_view name = entry.substr(0, entry.find('='));
        const bool known = std::ranges::any_of(
            initiator::setting_table(), [&](const auto& row) { return row.setting.name == name; });
        if (name.starts_with(prefix) && !known)
            unknown.push_back(printable(name));
    }
    std::ranges::sort(unknown);
    return unknown;
}

} // namespace

int show_settings(const Command& command) {
    json all = json::array();
    bool wrong = false;
    for (const auto& row : initiator::setting_table()) {
        const SettingFacts facts = facts_of(row.setting);
        wrong = wrong || facts.wrong;
        if (command.json)
            all.push_back(json_of(facts));
        else
            fmt::print("{}", describe(facts));
    }
    const auto unknown = unknown_variables();
    if (command.json)
        fmt::print(
            "{}\n",
            json{{"format", 1}, {"action", "settings"}, {"settings", all}, {"unknown", unknown}}
                .dump(2, ' ', false, json::error_handler_t::replace));
    else
        for (const std::string& name : unknown)
            fmt::print("UNKNOWN: {} is not a setting of librpmem; is its name mistyped?\n", name);
    return wrong ? status_failed : status_done;
}

} // namespace rpmem::ctl
