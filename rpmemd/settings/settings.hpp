// SPDX-License-Identifier: BSD-3-Clause
// The table of settings of the daemon. It defines the keys of configuration files, the options of
// the command line, and the output of --help and --check-config. The layers (defaults, files,
// environment, command line) are merged into one Configuration.
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

// Maximum size of a value, also after $HOME is replaced: the maximum size of a path.
inline constexpr std::size_t max_setting_size = PATH_MAX - 1;

[[nodiscard]] std::span<const SettingRow<Configuration>> setting_table();

struct GivenValue {
    std::string text;
    std::string source; // "command line", "/etc/rpmemd/rpmemd.conf:3"
};

// The values of one file, the environment or the command line. The key is the name of a setting.
using Layer = std::map<std::string_view, GivenValue>;

// Sets KEY. Fails with EINVAL. The error text has KEY, but not the source of the value.
[[nodiscard]] Result<> apply_setting(Layer& layer, std::string_view key, GivenValue value);

// Turns syslog off in a layer that sets log-file but not use-syslog. Call it when LAYER is
// complete.
void conclude(Layer& layer);

// Returns the values of environment variables. An invalid value is ignored and added to WARNINGS.
using Variables = std::function<const char*(const char* name)>;
[[nodiscard]] Layer read_variables(const Variables& variables, std::vector<std::string>& warnings);

// Returns LOWER, overridden by the values of UPPER.
[[nodiscard]] Layer overlay(const Layer& lower, const Layer& upper);

// Returns LAYER with defaults for missing values, and with $HOME replaced in paths. Fails with
// EINVAL if a path is not absolute or too long, if HOME is empty but needed, or if settings
// conflict.
[[nodiscard]] Result<Layer> complete(Layer layer, std::string_view home);

// Returns REST with the settings of LAYER, a result of complete().
[[nodiscard]] Configuration configuration_of(const Layer& layer, Configuration rest = {});
// Returns LAYER as a configuration file. A comment in each line has the source of the value.
[[nodiscard]] std::string describe(const Layer& layer);

} // namespace rpmem::target
