// SPDX-License-Identifier: BSD-3-Clause
// A setting is one row of a table. The table defines parsing, bounds, --help, the keys of
// configuration files, the environment variables, and what the tools print.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rpmem {

enum class SettingKind {
    text,
    path,    // absolute; $HOME is replaced by the home directory
    boolean, // two words: first the one that means no, then the one that means yes
    number,
    choice,   // one of several words
    range,    // FIRST-LAST, two numbers
    mode,     // octal permissions; minimum: bits that must be set, maximum: bits that may be set
    list,     // names, separated by commas
    commands, // command lines, separated by '|'
};

struct Setting {
    std::string_view name;
    SettingKind kind;
    std::string_view default_value = ""; // as text; empty if there is none
    std::string_view help;
    std::uint64_t minimum = 0; // for numbers, ranges and modes
    std::uint64_t maximum = 0; // for numbers, ranges and modes; for lists the number of names
    std::uint64_t step = 1;    // numbers must be a multiple of it
    std::string_view unit = "";
    std::string_view words = ""; // separated by '|'
    // Only for settings of a program:
    std::string_view variable = "";    // environment variable that sets it as well
    std::string_view option = "";      // short option
    std::string_view placeholder = ""; // how --help writes the value
};

// A parsed value of any kind.
struct SettingValue {
    std::string_view text;
    std::uint64_t number = 0;          // index of the word, or first number of a range
    std::uint64_t last = 0;            // the last number of a range
    std::vector<std::string> elements; // the elements of a list or of commands
};

// Returns nothing if TEXT is not a valid value of SETTING. complaint_about() describes valid
// values.
[[nodiscard]] std::optional<SettingValue> parse_setting(const Setting& setting,
                                                        std::string_view text);

// Returns the text that follows an invalid value in a message: "not a number of bytes from 64 to
// 4096".
[[nodiscard]] std::string complaint_about(const Setting& setting);

// Returns "64 to 4096 bytes" or "no or yes"; empty for texts, paths and commands.
[[nodiscard]] std::string allowed_values(const Setting& setting);

// A setting, and the function that stores its value.
template <typename Values>
struct SettingRow {
    Setting setting;
    void (*store)(Values& values, const SettingValue& value);
};

namespace setting_detail {

template <typename Pointer>
struct MemberOf;
template <typename Values, typename Member>
struct MemberOf<Member Values::*> {
    using Owner = Values;
};

template <typename Member>
void assign(Member& member, const SettingValue& value) {
    if constexpr (std::is_same_v<Member, std::vector<std::string>>)
        member = value.elements;
    else if constexpr (std::is_constructible_v<Member, std::string_view>)
        member = Member(value.text);
    else if constexpr (std::is_same_v<Member, std::optional<unsigned>>)
        member = static_cast<unsigned>(value.number);
    else if constexpr (std::is_arithmetic_v<Member> || std::is_enum_v<Member>)
        member = static_cast<Member>(value.number);
    else
        member = Member(value.number); // a duration
}

} // namespace setting_detail

// Stores VALUE in MEMBER, converted to its type.
template <auto member>
void into(typename setting_detail::MemberOf<decltype(member)>::Owner& values,
          const SettingValue& value) {
    setting_detail::assign(values.*member, value);
}

// Returns a row that stores its value in MEMBER.
template <auto member>
constexpr auto row_of(const Setting& setting) {
    return SettingRow<typename setting_detail::MemberOf<decltype(member)>::Owner>{setting,
                                                                                  into<member>};
}
template <auto member>
constexpr auto text_row(std::string_view name, std::string_view default_value,
                        std::string_view help) {
    return row_of<member>(
        {.name = name, .kind = SettingKind::text, .default_value = default_value, .help = help});
}
template <auto member>
constexpr auto choice_row(std::string_view name, std::string_view words,
                          std::string_view default_value, std::string_view help,
                          std::string_view placeholder = "") {
    return row_of<member>({.name = name,
                           .kind = SettingKind::choice,
                           .default_value = default_value,
                           .help = help,
                           .words = words,
                           .placeholder = placeholder});
}
// The words are 0 and 1 if DEFAULT_VALUE is one of them, else no and yes.
template <auto member>
constexpr auto switch_row(std::string_view name, std::string_view default_value,
                          std::string_view help) {
    return row_of<member>(
        {.name = name,
         .kind = SettingKind::boolean,
         .default_value = default_value,
         .help = help,
         .words = default_value == "0" || default_value == "1" ? "0|1" : "no|yes"});
}
// The default bounds, in milliseconds, are those of most timeouts at both ends.
template <auto member>
constexpr auto timeout_row(std::string_view name, std::string_view default_value,
                           std::string_view help, std::string_view unit,
                           std::string_view placeholder = "", std::uint64_t minimum = 1000,
                           std::uint64_t maximum = 3600000) {
    return row_of<member>({.name = name,
                           .kind = SettingKind::number,
                           .default_value = default_value,
                           .help = help,
                           .minimum = minimum,
                           .maximum = maximum,
                           .unit = unit,
                           .placeholder = placeholder});
}

} // namespace rpmem
