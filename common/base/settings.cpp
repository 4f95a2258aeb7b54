#include "base/settings.hpp"

#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <string_view>

namespace rpmem {
namespace {

using enum SettingKind;

constexpr std::array rows = {
    SettingRow{"RPMEM_SSH", text, "ssh", 0, 0, "", "program started instead of ssh"},
    SettingRow{"RPMEM_SSH_TRANSPORT", choice, "process", 0, 0, "process|libssh2",
               "what logs in: ssh in a process of its own, or libssh2 within the program"},
    SettingRow{"RPMEM_SSH_KEY", text, "", 0, 0, "",
               "private key file, the only key that libssh2 tries"},
    SettingRow{"RPMEM_SSH_KNOWN_HOSTS", text, "", 0, 0, "",
               "the only known_hosts file that libssh2 reads"},
    SettingRow{"RPMEM_CMD", text, "rpmemd", 0, 0, "",
               "remote command; several, separated by '|', are taken in turn (read at load)"},
    SettingRow{"RPMEM_ENABLE_VERBS", boolean, "1", 0, 1, "", "RDMA devices may be used"},
    SettingRow{"RPMEM_DEVICE", text, "", 0, 0, "",
               "RDMA devices that may be used: NAME or NAME:PORT, separated by commas"},
    SettingRow{"RPMEM_ENABLE_TCP", boolean, "1", 0, 1, "",
               "the tcp provider may be used, if the target offers it"},
    SettingRow{"RPMEM_ENABLE_SOCKETS", boolean, "0", 0, 1, "", "the sockets provider may be used"},
    SettingRow{"RPMEM_FORK_SAFE", boolean, "1", 0, 1, "",
               "RDMA is used only where fork(2) does no harm to its memory"},
    SettingRow{"RPMEM_ODP", choice, "auto", 0, 0, "auto|on|off",
               "on-demand paging by RDMA devices: where memory cannot be pinned, always, or never"},
    SettingRow{"RPMEM_MAX_NLANES", number, "", 1, UINT_MAX, "lanes",
               "upper bound of lanes of a pool (read at load)"},
    SettingRow{"RPMEM_WORK_QUEUE_SIZE", number, "50", 1, 65536, "operations",
               "suggested work queue size of a lane (read at load)"},
    SettingRow{"RPMEM_INLINE_SIZE", number, "524288", 64, 524288, "bytes",
               "most data in one message, where larger ranges are cut"},
    SettingRow{"RPMEM_CONNECT_TIMEOUT", number, "30000", 1000, 3600000, "ms",
               "bound of the login, and of connecting the lanes"},
    SettingRow{"RPMEM_OPERATION_TIMEOUT", number, "120000", 1000, 3600000, "ms",
               "how long a call waits while nothing comes from the target"},
    SettingRow{"RPMEM_SPIN_TIME", number, "50", 0, 1000000, "us",
               "how long a wait spins before it sleeps"},
    SettingRow{"RPMEM_LOG_LEVEL", number, "0", 0, 4, "",
               "0 none, 1 error, 2 warning, 3 info, 4 debug"},
    SettingRow{"RPMEM_LOG_FILE", text, "", 0, 0, "",
               "log file instead of standard error; a final '-' is followed by the process id"},
};

constexpr const SettingRow& row_of(std::string_view name) {
    for (const SettingRow& row : rows)
        if (name == row.name)
            return row;
    return rows[0]; // not reached: every caller names a row
}

class Reader {
public:
    Reader(const Environment& environment, std::vector<std::string>& warnings)
        : environment_(environment), warnings_(warnings) {}

    std::string read_text(const char* name) const {
        const char* value = environment_(name);
        return value && *value ? value : row_of(name).default_value;
    }

    std::optional<std::uint64_t> read_number(const char* name) const {
        const SettingRow& row = row_of(name);
        if (const char* value = environment_(name)) {
            const auto number = parse(value);
            if (number && *number >= row.minimum && *number <= row.maximum)
                return number;
            warnings_.push_back(
                fmt::format("{}={}: not a number from {} to {}{}{}; {}", name, value, row.minimum,
                            row.maximum, *row.unit ? " " : "", row.unit,
                            *row.default_value ? fmt::format("{} is used", row.default_value)
                                               : std::string("no limit is used")));
        }
        return parse(row.default_value);
    }

    // The number of the word among the choices.
    std::size_t read_choice(const char* name) const {
        const SettingRow& row = row_of(name);
        if (const char* value = environment_(name)) {
            if (const auto number = number_of(value, row.unit))
                return *number;
            warnings_.push_back(fmt::format("{}={}: not one of {}; {} is used", name, value,
                                            row.unit, row.default_value));
        }
        return number_of(row.default_value, row.unit).value_or(0);
    }

    bool read_boolean(const char* name) const { return read_number(name).value_or(0) == 1; }

private:
    static std::optional<std::uint64_t> parse(std::string_view value) {
        std::uint64_t number = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size())
            return std::nullopt;
        return number;
    }

    static std::optional<std::size_t> number_of(std::string_view word, std::string_view words) {
        for (std::size_t number = 0;; ++number) {
            const auto bar = words.find('|');
            if (word == words.substr(0, bar))
                return number;
            if (bar == std::string_view::npos)
                return std::nullopt;
            words.remove_prefix(bar + 1);
        }
    }

    const Environment& environment_;
    std::vector<std::string>& warnings_;
};

std::string_view trimmed(std::string_view part) {
    const auto first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return part.substr(first, part.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> split_commands(const std::string& value) {
    std::vector<std::string> commands;
    std::string_view rest = value;
    while (true) {
        const auto bar = rest.find('|');
        if (const auto command = trimmed(rest.substr(0, bar)); !command.empty())
            commands.emplace_back(command);
        if (bar == std::string_view::npos)
            break;
        rest.remove_prefix(bar + 1);
    }
    if (commands.empty())
        commands.emplace_back(row_of("RPMEM_CMD").default_value);
    return commands;
}

LogLevel to_log_level(std::uint64_t number) {
    constexpr LogLevel levels[] = {LogLevel::none, LogLevel::error, LogLevel::warning,
                                   LogLevel::info, LogLevel::debug};
    return levels[number];
}

} // namespace

std::span<const SettingRow> setting_table() { return rows; }

Settings read_settings(const Environment& environment) {
    std::vector<std::string> warnings;
    const Reader reader(environment, warnings);
    const auto milliseconds = [&](const char* name) {
        return std::chrono::milliseconds(*reader.read_number(name));
    };
    Settings settings{
        .ssh = reader.read_text("RPMEM_SSH"),
        .ssh_transport = static_cast<SshTransport>(reader.read_choice("RPMEM_SSH_TRANSPORT")),
        .ssh_key = reader.read_text("RPMEM_SSH_KEY"),
        .ssh_known_hosts = reader.read_text("RPMEM_SSH_KNOWN_HOSTS"),
        .commands = split_commands(reader.read_text("RPMEM_CMD")),
        .enable_verbs = reader.read_boolean("RPMEM_ENABLE_VERBS"),
        .device = reader.read_text("RPMEM_DEVICE"),
        .enable_tcp = reader.read_boolean("RPMEM_ENABLE_TCP"),
        .enable_sockets = reader.read_boolean("RPMEM_ENABLE_SOCKETS"),
        .fork_safe = reader.read_boolean("RPMEM_FORK_SAFE"),
        .paging = static_cast<PagingPolicy>(reader.read_choice("RPMEM_ODP")),
        .max_lanes = std::nullopt,
        .work_queue_size = static_cast<unsigned>(*reader.read_number("RPMEM_WORK_QUEUE_SIZE")),
        .inline_size = static_cast<unsigned>(*reader.read_number("RPMEM_INLINE_SIZE")),
        .connect_timeout = milliseconds("RPMEM_CONNECT_TIMEOUT"),
        .operation_timeout = milliseconds("RPMEM_OPERATION_TIMEOUT"),
        .spin_time = std::chrono::microseconds(*reader.read_number("RPMEM_SPIN_TIME")),
        .log_level = to_log_level(*reader.read_number("RPMEM_LOG_LEVEL")),
        .log_file = reader.read_text("RPMEM_LOG_FILE"),
        .warnings = {},
    };
    if (const auto lanes = reader.read_number("RPMEM_MAX_NLANES"))
        settings.max_lanes = static_cast<unsigned>(*lanes);
    settings.warnings = std::move(warnings);
    return settings;
}

} // namespace rpmem
