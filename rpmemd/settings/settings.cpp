// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/settings.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>

namespace rpmem::target {
namespace {

using enum SettingKind;

constexpr std::string_view from_default = "default";

void store_log_level(Configuration& configuration, const SettingValue& value) {
    constexpr LogLevel levels[] = {LogLevel::error, LogLevel::warning, LogLevel::notice,
                                   LogLevel::info, LogLevel::debug};
    configuration.log_level = levels[value.number];
}

void store_port_range(Configuration& configuration, const SettingValue& value) {
    configuration.first_port = static_cast<std::uint16_t>(value.number);
    configuration.last_port = static_cast<std::uint16_t>(value.last);
}

// The order of the rows is that of --help and --check-config.
constexpr SettingRow<Configuration> rows[] = {
    row_of<&Configuration::poolset_dir>({.name = "poolset-dir",
                                         .kind = path,
                                         .default_value = "$HOME",
                                         .help = "directory of the pool sets",
                                         .placeholder = "DIRECTORY"}),
    switch_row<&Configuration::allow_outside>(
        "poolset-outside", "no",
        "let names of pool sets lead out of that directory by .. or symbolic links"),
    row_of<&Configuration::part_mode>({.name = "part-mode",
                                       .kind = mode,
                                       .default_value = "0600",
                                       .help = "permissions of new part files",
                                       .minimum = 0600,
                                       .maximum = 0666,
                                       .placeholder = "MODE"}),
    choice_row<&Configuration::volatile_medium>(
        "volatile-medium", "warn|refuse", "warn",
        "for a pool on a volatile medium: log a warning, or refuse the pool", "WHAT"),
    switch_row<&Configuration::persist_apm>("persist-apm", "no",
                                            "allow the Appliance Persistency Method"),
    switch_row<&Configuration::persist_general>(
        "persist-general", "yes", "allow the General Purpose Server Persistency Method"),
    choice_row<&Configuration::deep_flush>(
        "deep-flush", "warn|require", "warn",
        "for a pool whose deep flush this user may not request: log a warning, or refuse the pool",
        "WHAT"),
    switch_row<&Configuration::direct_access>(
        "direct-access", "yes", "let clients access pools by RDMA; no: by frames only"),
    switch_row<&Configuration::sockets>(
        "sockets", "no",
        "allow the provider sockets, which lets unauthenticated connections disturb a session"),
    choice_row<&Configuration::confine>(
        "confine", "auto|yes|no", "auto",
        "limit a session to the files and system calls that it needs: where possible, always (or "
        "refuse the session), or never",
        "WHEN"),
    row_of<&Configuration::device>(
        {.name = "device",
         .kind = list,
         .help = "allowed RDMA devices, as NAME or NAME:PORT; all if not set",
         .maximum = 64,
         .placeholder = "DEVICE[:PORT],..."}),
    row_of<&Configuration::addresses>(
        {.name = "address",
         .kind = list,
         .help = "further addresses of this machine for lanes, besides the one that ssh reached",
         .maximum = 8,
         .placeholder = "ADDRESS,..."}),
    {{.name = "port-range",
      .kind = range,
      .help = "ports for lanes over TCP, for firewalls; if not set, the kernel chooses one",
      .minimum = 1,
      .maximum = 65535,
      .placeholder = "FIRST-LAST"},
     store_port_range},
    timeout_row<&Configuration::peer_timeout>(
        "peer-timeout", "20000",
        "timeout for input from the client, and on a lane for acknowledgements of its kernel",
        "milliseconds", "MILLISECONDS"),
    row_of<&Configuration::state_dir>(
        {.name = "state-dir",
         .kind = path,
         .default_value = "$HOME/.local/state/rpmemd",
         .help = "directory for the records of sessions, which lets clients resume lost ones",
         .placeholder = "DIRECTORY"}),
    row_of<&Configuration::stats_dir>(
        {.name = "stats-dir",
         .kind = path,
         .help = "directory in which each session writes statistics for Prometheus every 10 "
                 "seconds; none if not set",
         .placeholder = "DIRECTORY"}),
    choice_row<&Configuration::tls>(
        "tls", "off|on|require", "off",
        "use TLS for lanes: never, if the client supports it, or always (or refuse the client)",
        "WHEN"),
    switch_row<&Configuration::require_hello>("require-hello", "no",
                                              "refuse clients that speak protocol 0.1"),
    row_of<&Configuration::paging>(
        {.name = "on-demand-paging",
         .kind = choice,
         .default_value = "auto",
         .help = "let RDMA devices page memory in: if it cannot be pinned, always, or never",
         .words = "auto|on|off",
         .variable = "RPMEM_ODP",
         .placeholder = "WHEN"}),
    timeout_row<&Configuration::accept_timeout>("accept-timeout", "120000",
                                                "time for a client to connect its lanes",
                                                "milliseconds", "MILLISECONDS"),
    row_of<&Configuration::threads>({.name = "nthreads",
                                     .kind = number,
                                     .default_value = "0",
                                     .help = "threads that serve the lanes; 0: one per processor",
                                     .minimum = 0,
                                     .maximum = 1024,
                                     .option = "-t",
                                     .placeholder = "N"}),
    row_of<&Configuration::spin_time>(
        {.name = "spin-time",
         .kind = number,
         .default_value = "50",
         .help = "time for which a thread polls for messages before it sleeps",
         .minimum = 0,
         .maximum = 1000000,
         .unit = "microseconds",
         .variable = "RPMEM_SPIN_TIME",
         .placeholder = "MICROSECONDS"}),
    switch_row<&Configuration::use_syslog>("use-syslog", "yes",
                                           "log to syslog(3); no by default if log-file is set"),
    row_of<&Configuration::log_file>({.name = "log-file",
                                      .kind = path,
                                      .default_value = "/var/log/rpmemd.log",
                                      .help = "log to this file instead of syslog",
                                      .placeholder = "FILE"}),
    {{.name = "log-level",
      .kind = choice,
      .default_value = "err",
      .help = "least severe kind of message that is logged",
      .words = "err|warn|notice|info|debug",
      .placeholder = "LEVEL"},
     store_log_level},
};

std::string names_of_settings() {
    std::string names;
    for (const auto& row : rows)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", row.setting.name);
    return names;
}

bool continues_name(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

Result<std::string> expand_home(std::string_view name, std::string text, std::string_view home) {
    constexpr std::string_view variable = "$HOME";
    std::size_t position = 0;
    while ((position = text.find(variable, position)) != std::string::npos) {
        const auto end = position + variable.size();
        if (end < text.size() && continues_name(text[end])) { // another variable
            position = end;
            continue;
        }
        if (home.empty())
            return invalid("{} {} needs the home directory, but HOME is not set; write an absolute "
                           "path without $HOME",
                           name, printable(text));
        text.replace(position, variable.size(), home);
        position += home.size();
    }
    if (!text.starts_with('/'))
        return invalid("{} {} is not absolute; write it with a leading slash, or $HOME", name,
                       printable(text));
    if (text.size() > max_setting_size)
        return invalid("{} has {} bytes after $HOME is replaced by the home directory; at most {} "
                       "are allowed",
                       name, text.size(), max_setting_size);
    return text;
}

bool is_on(const Layer& layer, std::string_view name) { return layer.at(name).text == "yes"; }

Result<> check_together(const Layer& layer) {
    if (is_on(layer, "persist-general"))
        return {};
    if (!is_on(layer, "persist-apm"))
        return invalid("persist-apm and persist-general are both off: nothing could be made "
                       "persistent; turn one of them on");
    if (!is_on(layer, "direct-access"))
        return invalid("direct-access and persist-general are both off: without direct access this "
                       "node must make ranges persistent itself; turn one of them on");
    return {};
}

} // namespace

std::span<const SettingRow<Configuration>> setting_table() { return rows; }

Result<> apply_setting(Layer& layer, std::string_view key, GivenValue value) {
    const auto* const row = std::ranges::find_if(
        rows, [&](const auto& candidate) { return candidate.setting.name == key; });
    if (row == std::end(rows))
        return invalid("unknown key \"{}\"; known are {}", printable(key), names_of_settings());
    if (value.text.empty())
        return invalid("{} has no value", key);
    if (value.text.size() > max_setting_size)
        return invalid("{} has {} bytes; at most {} are allowed", key, value.text.size(),
                       max_setting_size);
    if (value.text.find_first_of("\"'") == 0)
        return invalid("{}: the value {} begins with a quote; values are written without quotes",
                       key, printable(value.text));
    if (!parse_setting(row->setting, value.text))
        return invalid("{}: \"{}\" is {}", key, printable(value.text),
                       complaint_about(row->setting));
    layer.insert_or_assign(row->setting.name, std::move(value));
    return {};
}

void conclude(Layer& layer) {
    if (const auto file = layer.find("log-file"); file != layer.end())
        layer.try_emplace("use-syslog", GivenValue{"no", file->second.source});
}

Layer read_variables(const Variables& variables, std::vector<std::string>& warnings) {
    Layer layer;
    for (const auto& [setting, store] : rows) {
        const char* const value =
            setting.variable.empty() ? nullptr : variables(setting.variable.data());
        if (value == nullptr || *value == '\0')
            continue;
        if (parse_setting(setting, value))
            layer[setting.name] = {value, fmt::format("{} in the environment", setting.variable)};
        else
            warnings.push_back(fmt::format("{}={} in the environment: {}; it is ignored",
                                           setting.variable, value, complaint_about(setting)));
    }
    return layer;
}

Layer overlay(const Layer& lower, const Layer& upper) {
    Layer merged = upper;
    merged.insert(lower.begin(), lower.end()); // does not replace entries
    return merged;
}

Result<Layer> complete(Layer layer, std::string_view home) {
    for (const auto& [setting, store] : rows) {
        GivenValue& value =
            layer
                .try_emplace(setting.name, GivenValue{std::string(setting.default_value),
                                                      std::string(from_default)})
                .first->second;
        // Without a home directory, the default of state-dir stays as it is. Opening it then fails,
        // and the session continues without it.
        const bool may_stay =
            home.empty() && setting.name == "state-dir" && value.source == from_default;
        const bool is_none = value.text.empty() && setting.default_value.empty();
        if (setting.kind != path || may_stay || is_none)
            continue;
        RPMEM_ASSIGN(value.text, expand_home(setting.name, value.text, home));
    }
    RPMEM_TRY(check_together(layer));
    return layer;
}

Configuration configuration_of(const Layer& layer, Configuration rest) {
    for (const auto& [setting, store] : rows)
        if (const auto value = parse_setting(setting, layer.at(setting.name).text))
            store(rest, *value);
    return rest;
}

std::string describe(const Layer& layer) {
    constexpr int source_column = 40;
    std::string text;
    for (const auto& row : rows) {
        const auto& [value, source] = layer.at(row.setting.name);
        const std::string statement =
            fmt::format("{}{} = {}", value.empty() ? "#" : "", row.setting.name, value);
        const bool unused = row.setting.name == "log-file" && is_on(layer, "use-syslog");
        text += fmt::format("{:<{}} # {}{}\n", statement, source_column, source,
                            unused ? ", not used with syslog" : "");
    }
    return text;
}

} // namespace rpmem::target
