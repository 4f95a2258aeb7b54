// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/settings/settings.hpp"

#include "librpmem/settings/catch_up_rate.hpp"
#include "librpmem/settings/refusal.hpp"

#include <climits>

namespace rpmem::initiator {
namespace {

using enum SettingKind;

void store_log_level(Settings& settings, const SettingValue& value) {
    constexpr LogLevel levels[] = {LogLevel::none, LogLevel::error, LogLevel::warning,
                                   LogLevel::info, LogLevel::debug};
    settings.log_level = levels[value.number];
}

// The names must be literals, because getenv(3) needs a final NUL.
constexpr SettingRow<Settings> rows[] = {
    text_row<&Settings::ssh>("RPMEM_SSH", "ssh", "program to run as ssh"),
    choice_row<&Settings::ssh_transport>("RPMEM_SSH_TRANSPORT", "process|libssh2", "process",
                                         "login method: run ssh(1), or use libssh2 in-process"),
    text_row<&Settings::ssh_key>("RPMEM_SSH_KEY", "",
                                 "private key file, the only key that libssh2 tries"),
    text_row<&Settings::ssh_known_hosts>("RPMEM_SSH_KNOWN_HOSTS", "",
                                         "known_hosts file, the only one that libssh2 reads"),
    row_of<&Settings::commands>(
        {.name = "RPMEM_CMD",
         .kind = commands,
         .default_value = "rpmemd",
         .help = "remote command, or several, separated by '|', to use in turn (read at load)"}),
    choice_row<&Settings::offer>("RPMEM_OFFER", "variable|option", "variable",
                                 "form in which the remote command offers more than protocol 0.1"),
    text_row<&Settings::address>("RPMEM_ADDRESS", "",
                                 "host or address for lanes, instead of the host that ssh reached"),
    switch_row<&Settings::read_only>("RPMEM_READ_ONLY", "0",
                                     "start rpmemd with --read-only: sessions write nothing"),
    switch_row<&Settings::told_addresses>("RPMEM_TOLD_ADDRESSES", "0",
                                          "allow lanes to addresses that the target sends"),
    switch_row<&Settings::enable_verbs>("RPMEM_ENABLE_VERBS", "1", "allow RDMA devices"),
    text_row<&Settings::device>("RPMEM_DEVICE", "",
                                "allowed RDMA devices: NAME or NAME:PORT, separated by commas"),
    switch_row<&Settings::enable_tcp>("RPMEM_ENABLE_TCP", "1", "allow the tcp provider"),
    switch_row<&Settings::enable_sockets>("RPMEM_ENABLE_SOCKETS", "0",
                                          "allow the sockets provider"),
    switch_row<&Settings::fork_safe>("RPMEM_FORK_SAFE", "1",
                                     "use RDMA only if its memory is safe from fork(2)"),
    choice_row<&Settings::paging>(
        "RPMEM_ODP", "auto|on|off", "auto",
        "on-demand paging by RDMA devices: where memory cannot be pinned, always, or never"),
    row_of<&Settings::max_lanes>({.name = "RPMEM_MAX_NLANES",
                                  .kind = number,
                                  .help = "maximum number of lanes of a pool (read at load)",
                                  .minimum = 1,
                                  .maximum = UINT_MAX,
                                  .unit = "lanes"}),
    row_of<&Settings::work_queue_size>(
        {.name = "RPMEM_WORK_QUEUE_SIZE",
         .kind = number,
         .default_value = "50",
         .help = "suggested work queue size of a lane (read at load)",
         .minimum = 1,
         .maximum = 65536,
         .unit = "operations"}),
    row_of<&Settings::inline_size>({.name = "RPMEM_INLINE_SIZE",
                                    .kind = number,
                                    .default_value = "524288",
                                    .help = "maximum data of one message; larger ranges are split",
                                    .minimum = 64,
                                    .maximum = 524288,
                                    .step = 64,
                                    .unit = "bytes"}),
    timeout_row<&Settings::connect_timeout>("RPMEM_CONNECT_TIMEOUT", "30000",
                                            "timeout of the login, and of connecting lanes", "ms"),
    timeout_row<&Settings::operation_timeout>(
        "RPMEM_OPERATION_TIMEOUT", "120000",
        "timeout of a call while nothing arrives from the target", "ms"),
    timeout_row<&Settings::peer_timeout>("RPMEM_PEER_TIMEOUT", "20000",
                                         "silence of the target after which the session is lost",
                                         "ms"),
    choice_row<&Settings::on_loss>(
        "RPMEM_ON_LOSS", "fail|wait|alone", "fail",
        "calls on a lost session: fail after RPMEM_RECONNECT_TIMEOUT, wait without limit, or go on "
        "alone after that time, and send what the target lacks when it is back"),
    row_of<&Settings::catch_up_rate>(
        {.name = "RPMEM_CATCH_UP_RATE",
         .kind = number,
         .help = "maximum rate of sending what the target lacks (RPMEM_ON_LOSS=alone)",
         .minimum = min_catch_up_rate,
         .maximum = max_catch_up_rate,
         .unit = "bytes/s"}),
    choice_row<&Settings::equalize>(
        "RPMEM_EQUALIZE", "auto|yes|no", "auto",
        "compare a replica that may be behind before the first write: pools of libpmemobj, all, or "
        "never"),
    timeout_row<&Settings::reconnect_timeout>(
        "RPMEM_RECONNECT_TIMEOUT", "30000",
        "how long calls wait for a reconnect; 0: they fail at once", "ms", "", 0),
    timeout_row<&Settings::reconnect_delay>(
        "RPMEM_RECONNECT_DELAY", "100",
        "pause before the second attempt to reconnect; it doubles, up to 5000", "ms", "", 1, 5000),
    choice_row<&Settings::tls>("RPMEM_TLS", "off|on|require", "off",
                               "TLS of lanes: never, if the target supports it, or always"),
    switch_row<&Settings::require_hello>("RPMEM_REQUIRE_HELLO", "0",
                                         "refuse targets of protocol 0.1"),
    row_of<&Settings::spin_time>({.name = "RPMEM_SPIN_TIME",
                                  .kind = number,
                                  .default_value = "50",
                                  .help = "how long a wait spins before it sleeps",
                                  .minimum = 0,
                                  .maximum = 1000000,
                                  .unit = "us"}),
    {{.name = "RPMEM_LOG_LEVEL",
      .kind = choice,
      .default_value = "1",
      .help = "0 nothing, 1 errors, 2 warnings, 3 information, 4 everything",
      .words = "0|1|2|3|4"},
     store_log_level},
    text_row<&Settings::log_file>(
        "RPMEM_LOG_FILE", "",
        "log file instead of standard error; a final '-' is followed by the process id"),
    text_row<&Settings::stats_dir>(
        "RPMEM_STATS_DIR", "",
        "ignored; rpmemctl export --textfile writes statistics for Prometheus"),
};

// Other programs of the user use the same rule: the XDG Base Directory Specification. A relative
// path there is invalid and ignored.
std::string state_home(const Environment& environment) {
    const char* const own = environment("XDG_STATE_HOME");
    if (own != nullptr && *own == '/')
        return own;
    const char* const home = environment("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.local/state" : std::string();
}

// The specification has no default for it, because the directory must end with the user's session.
std::string runtime_dir(const Environment& environment) {
    const char* const own = environment("XDG_RUNTIME_DIR");
    return own != nullptr && *own == '/' ? own : "";
}

} // namespace

std::string used_instead(const Setting& setting) {
    if (protects(setting.name))
        return "no pool is used until it is corrected";
    return setting.default_value.empty() ? "no limit is used"
                                         : fmt::format("{} is used", setting.default_value);
}

std::span<const SettingRow<Settings>> setting_table() { return rows; }

std::string_view value_in(const Environment& environment, const Setting& setting) {
    const char* value = environment(setting.name.data());
    return value != nullptr ? std::string_view(value) : std::string_view();
}

Settings read_settings(const Environment& environment) {
    Settings settings{};
    for (const auto& [setting, store] : rows) {
        const std::string_view given = value_in(environment, setting);
        auto value = given.empty() ? std::nullopt : parse_setting(setting, given);
        if (!value && !given.empty())
            settings.warnings.push_back(fmt::format("{}={}: {}; {}", setting.name, given,
                                                    complaint_about(setting),
                                                    used_instead(setting)));
        if (!value && !setting.default_value.empty())
            value = parse_setting(setting, setting.default_value);
        if (value)
            store(settings, *value);
    }
    settings.state_home = state_home(environment);
    settings.runtime_dir = runtime_dir(environment);
    if (!settings.stats_dir.empty())
        settings.warnings.push_back(
            fmt::format("RPMEM_STATS_DIR={}: the library no longer writes statistics; run "
                        "`rpmemctl export --textfile {}` instead, see rpmemctl(1)",
                        settings.stats_dir, settings.stats_dir));
    return settings;
}

} // namespace rpmem::initiator
