#include "librpmem/settings/settings.hpp"

#include <array>
#include <climits>

namespace rpmem::initiator {
namespace {

using enum SettingKind;

constexpr std::string_view no_or_yes = "0|1";

void store_log_level(Settings& settings, const SettingValue& value) {
    constexpr LogLevel levels[] = {LogLevel::none, LogLevel::error, LogLevel::warning,
                                   LogLevel::info, LogLevel::debug};
    settings.log_level = levels[value.number];
}

// Names are literals: they end with NUL, as getenv(3) wants it.
constexpr SettingRow<Settings> rows[] = {
    {{.name = "RPMEM_SSH",
      .kind = text,
      .default_value = "ssh",
      .help = "program started instead of ssh"},
     into<&Settings::ssh>},
    {{.name = "RPMEM_SSH_TRANSPORT",
      .kind = choice,
      .default_value = "process",
      .help = "what logs in: ssh in a process of its own, or libssh2 within the program",
      .words = "process|libssh2"},
     into<&Settings::ssh_transport>},
    {{.name = "RPMEM_SSH_KEY",
      .kind = text,
      .help = "private key file, the only key that libssh2 tries"},
     into<&Settings::ssh_key>},
    {{.name = "RPMEM_SSH_KNOWN_HOSTS",
      .kind = text,
      .help = "the only known_hosts file that libssh2 reads"},
     into<&Settings::ssh_known_hosts>},
    {{.name = "RPMEM_CMD",
      .kind = commands,
      .default_value = "rpmemd",
      .help = "remote command; several, separated by '|', are taken in turn (read at load)"},
     into<&Settings::commands>},
    {{.name = "RPMEM_ADDRESS",
      .kind = text,
      .help = "host or address where lanes connect, in place of where ssh went"},
     into<&Settings::address>},
    {{.name = "RPMEM_ENABLE_VERBS",
      .kind = boolean,
      .default_value = "1",
      .help = "RDMA devices may be used",
      .words = no_or_yes},
     into<&Settings::enable_verbs>},
    {{.name = "RPMEM_DEVICE",
      .kind = text,
      .help = "RDMA devices that may be used: NAME or NAME:PORT, separated by commas"},
     into<&Settings::device>},
    {{.name = "RPMEM_ENABLE_TCP",
      .kind = boolean,
      .default_value = "1",
      .help = "the tcp provider may be used, if the target offers it",
      .words = no_or_yes},
     into<&Settings::enable_tcp>},
    {{.name = "RPMEM_ENABLE_SOCKETS",
      .kind = boolean,
      .default_value = "0",
      .help = "the sockets provider may be used",
      .words = no_or_yes},
     into<&Settings::enable_sockets>},
    {{.name = "RPMEM_FORK_SAFE",
      .kind = boolean,
      .default_value = "1",
      .help = "RDMA is used only where fork(2) does no harm to its memory",
      .words = no_or_yes},
     into<&Settings::fork_safe>},
    {{.name = "RPMEM_ODP",
      .kind = choice,
      .default_value = "auto",
      .help = "on-demand paging by RDMA devices: where memory cannot be pinned, always, or never",
      .words = "auto|on|off"},
     into<&Settings::paging>},
    {{.name = "RPMEM_MAX_NLANES",
      .kind = number,
      .help = "upper bound of lanes of a pool (read at load)",
      .minimum = 1,
      .maximum = UINT_MAX,
      .unit = "lanes"},
     into<&Settings::max_lanes>},
    {{.name = "RPMEM_WORK_QUEUE_SIZE",
      .kind = number,
      .default_value = "50",
      .help = "suggested work queue size of a lane (read at load)",
      .minimum = 1,
      .maximum = 65536,
      .unit = "operations"},
     into<&Settings::work_queue_size>},
    {{.name = "RPMEM_INLINE_SIZE",
      .kind = number,
      .default_value = "524288",
      .help = "most data in one message, where larger ranges are cut",
      .minimum = 64,
      .maximum = 524288,
      .step = 64,
      .unit = "bytes"},
     into<&Settings::inline_size>},
    {{.name = "RPMEM_CONNECT_TIMEOUT",
      .kind = number,
      .default_value = "30000",
      .help = "bound of the login, and of connecting the lanes",
      .minimum = 1000,
      .maximum = 3600000,
      .unit = "ms"},
     into<&Settings::connect_timeout>},
    {{.name = "RPMEM_OPERATION_TIMEOUT",
      .kind = number,
      .default_value = "120000",
      .help = "how long a call waits while nothing comes from the target",
      .minimum = 1000,
      .maximum = 3600000,
      .unit = "ms"},
     into<&Settings::operation_timeout>},
    {{.name = "RPMEM_PEER_TIMEOUT",
      .kind = number,
      .default_value = "20000",
      .help = "how long the target's kernel may be silent until a lane over tcp is lost",
      .minimum = 1000,
      .maximum = 3600000,
      .unit = "ms"},
     into<&Settings::peer_timeout>},
    {{.name = "RPMEM_TLS",
      .kind = choice,
      .default_value = "off",
      .help = "lanes use TLS: never, if the target can, or else there are none",
      .words = "off|on|require"},
     into<&Settings::tls>},
    {{.name = "RPMEM_REQUIRE_HELLO",
      .kind = boolean,
      .default_value = "0",
      .help = "a target that speaks protocol 0.1 is refused",
      .words = no_or_yes},
     into<&Settings::require_hello>},
    {{.name = "RPMEM_SPIN_TIME",
      .kind = number,
      .default_value = "50",
      .help = "how long a wait spins before it sleeps",
      .minimum = 0,
      .maximum = 1000000,
      .unit = "us"},
     into<&Settings::spin_time>},
    {{.name = "RPMEM_LOG_LEVEL",
      .kind = choice,
      .default_value = "1",
      .help = "0 nothing, 1 errors, 2 warnings, 3 information, 4 everything",
      .words = "0|1|2|3|4"},
     store_log_level},
    {{.name = "RPMEM_LOG_FILE",
      .kind = text,
      .help = "log file instead of standard error; a final '-' is followed by the process id"},
     into<&Settings::log_file>},
};

} // namespace

std::string used_instead(const Setting& setting) {
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
    return settings;
}

} // namespace rpmem::initiator
