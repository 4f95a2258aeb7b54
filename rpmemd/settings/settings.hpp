// SPDX-License-Identifier: BSD-3-Clause
// The settings of the daemon: one row each, from which come the keys of configuration files, the
// options of the command line, and what --help and --check-config print. How the layers (defaults,
// files, environment, command line) become one Configuration.
#pragma once

#include "common/base/setting.hpp"
#include "rpmemd/settings/configuration.hpp"

#include <climits>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace rpmem::target {

// Bytes of a value, also with the home directory in the place of $HOME: those of the longest path.
inline constexpr std::size_t max_setting_size = PATH_MAX - 1;

[[nodiscard]] std::span<const SettingRow<Configuration>> setting_table();

struct GivenValue {
    std::string text;
    std::string source; // "command line", "/etc/rpmemd/rpmemd.conf:3"
};

// The values of one file, the environment or the command line, by the name of the setting.
using Layer = std::map<std::string_view, GivenValue>;

// Sets KEY. EINVAL, with a text that begins with KEY and does not say where it comes from.
[[nodiscard]] Result<> apply_setting(Layer& layer, std::string_view key, GivenValue value);

// A layer that names a log file and does not mention syslog turns syslog off. To be called when all
// of LAYER is there.
void conclude(Layer& layer);

// The values of the environment. A wrong value is not taken but told in WARNINGS.
using Variables = std::function<const char*(const char* name)>;
[[nodiscard]] Layer read_variables(const Variables& variables, std::vector<std::string>& warnings);

// LOWER with all that UPPER sets.
[[nodiscard]] Layer overlay(const Layer& lower, const Layer& upper);

// LAYER with the defaults where it says nothing, and with `$HOME` in paths replaced. EINVAL if the
// outcome makes no sense. HOME may be empty if it is not needed.
[[nodiscard]] Result<Layer> complete(Layer layer, std::string_view home);

// REST with the settings of a layer that complete() made.
[[nodiscard]] Configuration configuration_of(const Layer& layer, Configuration rest = {});
// As a configuration file, with where each value comes from as a comment.
[[nodiscard]] std::string describe(const Layer& layer);

} // namespace rpmem::target
