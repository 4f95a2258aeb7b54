// SPDX-License-Identifier: BSD-3-Clause
// Reads JSON from another machine. A member that is missing or has another type counts as empty.
#pragma once

#include "common/base/log.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rpmem::ctl {

inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
    static const nlohmann::json nothing;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : nothing;
}

inline std::string text_of(const nlohmann::json& object, const char* name) {
    const nlohmann::json& value = member(object, name);
    return value.is_string() ? printable(value.get_ref<const std::string&>()) : std::string();
}

inline bool flag_of(const nlohmann::json& object, const char* name) {
    const nlohmann::json& value = member(object, name);
    return value.is_boolean() && value.get<bool>();
}

inline std::optional<std::uint64_t> number_of(const nlohmann::json& object, const char* name) {
    const nlohmann::json& value = member(object, name);
    return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

// Returns the element of LIST whose "name" is NAME, or null.
inline const nlohmann::json& named(const nlohmann::json& list, const std::string& name) {
    static const nlohmann::json nothing;
    if (list.is_array())
        for (const nlohmann::json& element : list)
            if (text_of(element, "name") == name)
                return element;
    return nothing;
}

} // namespace rpmem::ctl
