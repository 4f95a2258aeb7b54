// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/setting.hpp"

#include "common/base/text.hpp"

namespace rpmem {
namespace {

constexpr std::string_view home_variable = "$HOME";
constexpr int octal = 8;

bool is_in_bounds(const Setting& setting, std::uint64_t number) {
    if (setting.kind == SettingKind::mode)
        return (number & setting.minimum) == setting.minimum && (number & ~setting.maximum) == 0;
    return number >= setting.minimum && number <= setting.maximum && number % setting.step == 0;
}

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> elements;
    while (!text.empty())
        if (const auto element = trimmed(take_until(text, separator)); !element.empty())
            elements.emplace_back(element);
    return elements;
}

// Returns the index of WORD in WORDS, which are separated by '|'.
std::optional<std::uint64_t> number_of(std::string_view words, std::string_view word) {
    for (std::uint64_t number = 0; !words.empty(); ++number)
        if (word == take_until(words, "|"))
            return number;
    return std::nullopt;
}

// Returns "a, b or c" for "a|b|c" if LAST is " or ".
std::string listed(std::string_view words, std::string_view last) {
    std::string text(words);
    if (const auto bar = text.rfind('|'); bar != std::string::npos)
        text.replace(bar, 1, last);
    for (auto bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar))
        text.replace(bar, 1, ", ");
    return text;
}

bool is_list(const Setting& setting, const std::vector<std::string>& elements) {
    if (elements.empty() || elements.size() > setting.maximum)
        return false;
    for (const std::string& element : elements)
        if (element.find_first_of(" \t") != std::string::npos)
            return false;
    return true;
}

std::string bounds_of(const Setting& setting) {
    if (setting.kind == SettingKind::mode)
        return fmt::format("{:04o} to {:04o}", setting.minimum, setting.maximum);
    return fmt::format("{} to {}", setting.minimum, setting.maximum);
}

std::string in_steps(const Setting& setting) {
    return setting.step > 1 ? fmt::format(", in multiples of {}", setting.step) : std::string();
}

} // namespace

std::optional<SettingValue> parse_setting(const Setting& setting, std::string_view text) {
    SettingValue value{.text = text, .number = 0, .last = 0, .elements = {}};
    std::optional<std::uint64_t> number;
    switch (setting.kind) {
    case SettingKind::text:
        return value;
    case SettingKind::path:
        return text.starts_with('/') || text.starts_with(home_variable) ? std::optional(value)
                                                                        : std::nullopt;
    case SettingKind::boolean:
    case SettingKind::choice:
        number = number_of(setting.words, text);
        break;
    case SettingKind::number:
    case SettingKind::mode:
        number = parse_number<std::uint64_t>(text, setting.kind == SettingKind::mode ? octal : 10);
        if (number && !is_in_bounds(setting, *number))
            return std::nullopt;
        break;
    case SettingKind::range: {
        number = parse_number<std::uint64_t>(trimmed(take_until(text, "-")));
        const auto last = parse_number<std::uint64_t>(trimmed(text));
        if (!number || !last || *number > *last || !is_in_bounds(setting, *number) ||
            !is_in_bounds(setting, *last))
            return std::nullopt;
        value.last = *last;
        break;
    }
    case SettingKind::list:
        value.elements = split(text, ",");
        return is_list(setting, value.elements) ? std::optional(value) : std::nullopt;
    case SettingKind::commands:
        value.elements = split(text, "|");
        return value.elements.empty() ? std::nullopt : std::optional(value);
    }
    if (!number)
        return std::nullopt;
    value.number = *number;
    return value;
}

std::string complaint_about(const Setting& setting) {
    switch (setting.kind) {
    case SettingKind::text:
        return "not a text";
    case SettingKind::path:
        return "not an absolute path; write it with a leading slash, or with $HOME";
    case SettingKind::boolean: {
        const auto bar = setting.words.find('|');
        return fmt::format("neither {} nor {}", setting.words.substr(bar + 1),
                           setting.words.substr(0, bar));
    }
    case SettingKind::choice:
        return "not one of " + listed(setting.words, ", ");
    case SettingKind::number:
        return fmt::format("not a number{}{} from {}{}", setting.unit.empty() ? "" : " of ",
                           setting.unit, bounds_of(setting), in_steps(setting));
    case SettingKind::range:
        return fmt::format("not a range FIRST-LAST of numbers from {}, with FIRST at most LAST",
                           bounds_of(setting));
    case SettingKind::mode:
        return fmt::format("not an octal mode from {} without bits for execution",
                           bounds_of(setting));
    case SettingKind::list:
        return fmt::format("not a list of 1 to {} names, separated by commas, without blanks "
                           "within a name",
                           setting.maximum);
    case SettingKind::commands:
        return "not a command";
    }
    return {};
}

std::string allowed_values(const Setting& setting) {
    switch (setting.kind) {
    case SettingKind::text:
    case SettingKind::path:
    case SettingKind::commands:
        return {};
    case SettingKind::boolean:
    case SettingKind::choice:
        return listed(setting.words, " or ");
    case SettingKind::number:
    case SettingKind::mode:
        return fmt::format("{}{}{}{}", bounds_of(setting), setting.unit.empty() ? "" : " ",
                           setting.unit, in_steps(setting));
    case SettingKind::range:
        return fmt::format("FIRST-LAST, from {}", bounds_of(setting));
    case SettingKind::list:
        return fmt::format("at most {}, separated by commas", setting.maximum);
    }
    return {};
}

} // namespace rpmem
