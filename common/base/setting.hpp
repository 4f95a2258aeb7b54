// SPDX-License-Identifier: BSD-3-Clause
// One setting is one row of a table. From it come parsing, bounds, --help, the keys of
// configuration files, the variables of the environment, and what the tools print.
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
    path,    // absolute; $HOME in it stands for the home directory
    boolean, // two words: the one that means no, and the one that means yes
    number,
    choice,   // one of several words
    range,    // FIRST-LAST, two numbers
    mode,     // permissions in octal; minimum: bits that must be set, maximum: bits that may be
    list,     // names, separated by commas
    commands, // command lines, separated by '|'
};

struct Setting {
    std::string_view name;
    SettingKind kind;
    std::string_view default_value = ""; // as text; "": none
    std::string_view help;
    std::uint64_t minimum = 0; // of numbers, ranges and modes
    std::uint64_t maximum = 0; // of lists: how many names
    std::uint64_t step = 1;    // a number is a multiple of it
    std::string_view unit = "";
    std::string_view words = ""; // separated by '|'
    // Of settings of a program:
    std::string_view variable = "";    // environment variable that sets it, too
    std::string_view option = "";      // short option
    std::string_view placeholder = ""; // how --help writes the value
};

// A value of any kind, before it is stored where it belongs.
struct SettingValue {
    std::string_view text;
    std::uint64_t number = 0;          // or the number of the word, or the first of a range
    std::uint64_t last = 0;            // of a range
    std::vector<std::string> elements; // of lists and commands
};

// Nothing, if TEXT is not a value of SETTING; complaint_about() says what it would have to be.
[[nodiscard]] std::optional<SettingValue> parse_setting(const Setting& setting,
                                                        std::string_view text);

// "not a number of bytes from 64 to 4096": what follows the wrong value in a message.
[[nodiscard]] std::string complaint_about(const Setting& setting);

// "64 to 4096 bytes", "yes or no": empty where anything is allowed.
[[nodiscard]] std::string allowed_values(const Setting& setting);

// One row: what a setting is, and where its value is stored.
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

// Stores a value in this member, whose type decides how.
template <auto member>
void into(typename setting_detail::MemberOf<decltype(member)>::Owner& values,
          const SettingValue& value) {
    setting_detail::assign(values.*member, value);
}

// A row whose value goes into this member.
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
// DEFAULT_VALUE decides for the words: 0 and 1, or no and yes.
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
// Bounds are those that most times of both ends have, in milliseconds.
template <auto member>
constexpr auto timeout_row(std::string_view name, std::string_view default_value,
                           std::string_view help, std::string_view unit,
                           std::string_view placeholder = "", std::uint64_t least = 1000,
                           std::uint64_t most = 3600000) {
    return row_of<member>({.name = name,
                           .kind = SettingKind::number,
                           .default_value = default_value,
                           .help = help,
                           .minimum = least,
                           .maximum = most,
                           .unit = unit,
                           .placeholder = placeholder});
}

} // namespace rpmem
