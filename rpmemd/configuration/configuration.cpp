#include "configuration/configuration.hpp"

#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>

namespace rpmem::target {
namespace {

template <typename... Args>
Failure invalid(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorClass::caller_fault, EINVAL, format, std::forward<Args>(args)...);
}

Result<> parse_yes_no(std::optional<bool>& setting, std::string_view value) {
    if (value != "yes" && value != "no")
        return invalid("\"{}\" is neither yes nor no", value);
    setting = value == "yes";
    return {};
}

Result<> parse_text(std::optional<std::string>& setting, std::string_view value) {
    setting = std::string(value);
    return {};
}

struct LogLevelName {
    std::string_view name;
    LogLevel level;
};
constexpr LogLevelName log_level_names[] = {{"err", LogLevel::error},
                                            {"warn", LogLevel::warning},
                                            {"notice", LogLevel::notice},
                                            {"info", LogLevel::info},
                                            {"debug", LogLevel::debug}};

Result<> parse_log_level(std::optional<LogLevel>& setting, std::string_view value) {
    for (const auto& [name, level] : log_level_names) {
        if (value == name) {
            setting = level;
            return {};
        }
    }
    return invalid("\"{}\" is not a log level; use err, warn, notice, info or debug", value);
}

Result<> parse_accept_timeout(std::optional<unsigned>& setting, std::string_view value) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() ||
        number < least_accept_timeout || number > most_accept_timeout)
        return invalid("\"{}\" is not a number of milliseconds from {} to {}", value,
                       least_accept_timeout, most_accept_timeout);
    setting = number;
    return {};
}

Result<> parse_paging(std::optional<PagingPolicy>& setting, std::string_view value) {
    if (value == "auto")
        setting = PagingPolicy::when_needed;
    else if (value == "on")
        setting = PagingPolicy::always;
    else if (value == "off")
        setting = PagingPolicy::never;
    else
        return invalid("\"{}\" is neither auto nor on nor off", value);
    return {};
}

struct Key {
    std::string_view name;
    Result<> (*parse)(Settings& settings, std::string_view value);
};
constexpr Key keys[] = {
    {"accept-timeout",
     [](Settings& settings, std::string_view value) {
         return parse_accept_timeout(settings.accept_timeout, value);
     }},
    {"device",
     [](Settings& settings, std::string_view value) { return parse_text(settings.device, value); }},
    {"direct-access",
     [](Settings& settings, std::string_view value) {
         return parse_yes_no(settings.direct_access, value);
     }},
    {"log-file", [](Settings& settings,
                    std::string_view value) { return parse_text(settings.log_file, value); }},
    {"log-level",
     [](Settings& settings, std::string_view value) {
         return parse_log_level(settings.log_level, value);
     }},
    {"on-demand-paging",
     [](Settings& settings, std::string_view value) {
         return parse_paging(settings.paging, value);
     }},
    {"persist-apm",
     [](Settings& settings, std::string_view value) {
         return parse_yes_no(settings.persist_apm, value);
     }},
    {"persist-general",
     [](Settings& settings, std::string_view value) {
         return parse_yes_no(settings.persist_general, value);
     }},
    {"poolset-dir", [](Settings& settings,
                       std::string_view value) { return parse_text(settings.poolset_dir, value); }},
    {"poolset-outside",
     [](Settings& settings, std::string_view value) {
         return parse_yes_no(settings.allow_outside, value);
     }},
    {"use-syslog", [](Settings& settings,
                      std::string_view value) { return parse_yes_no(settings.use_syslog, value); }},
};

std::string names_of_keys() {
    std::string names;
    for (const Key& key : keys)
        names += (names.empty() ? "" : ", ") + std::string(key.name);
    return names;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\v\f";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

Result<> parse_line(Settings& settings, std::string_view line) {
    if (line.size() > max_configuration_line_size)
        return invalid("the line has {} bytes, at most {} are allowed", line.size(),
                       max_configuration_line_size);
    if (line.find('\0') != std::string_view::npos)
        return invalid("the line has a NUL byte; is this a text file?");
    const auto statement = trim(line.substr(0, line.find('#')));
    if (statement.empty())
        return {};
    const auto equals = statement.find('=');
    if (equals == std::string_view::npos)
        return invalid("there is no \"=\"; write: key = value");
    return apply_setting(settings, trim(statement.substr(0, equals)),
                         trim(statement.substr(equals + 1)));
}

// For an error: enough of the line to find it, and nothing that upsets a terminal or a log.
std::string shown(std::string_view line) {
    constexpr std::size_t enough = 200;
    std::string text;
    for (const char character : line.substr(0, enough))
        text += std::isprint(static_cast<unsigned char>(character)) != 0 ? character : '?';
    return line.size() > enough ? text + "..." : text;
}

Result<std::string> read_bounded(const std::filesystem::path& file) {
    // O_NONBLOCK: a FIFO nobody writes to must not hang the session.
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot open the configuration file {}",
                          file.native());
    std::string text(max_configuration_file_size + 1, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t count = ::read(fd.get(), text.data() + length, text.size() - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_errno(ErrorClass::caller_fault, errno,
                              "cannot read the configuration file {}", file.native());
        if (count == 0)
            break;
        length += static_cast<std::size_t>(count);
    }
    if (length > max_configuration_file_size)
        return fail(ErrorClass::caller_fault, EFBIG,
                    "the configuration file {} is too large: at most {} bytes are read",
                    file.native(), max_configuration_file_size);
    text.resize(length);
    return text;
}

bool continues_name(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

Result<std::filesystem::path> expand_home(std::string text, std::string_view home) {
    constexpr std::string_view variable = "$HOME";
    std::size_t position = 0;
    while ((position = text.find(variable, position)) != std::string::npos) {
        const auto end = position + variable.size();
        if (end < text.size() && continues_name(text[end])) { // some other variable
            position = end;
            continue;
        }
        if (home.empty())
            return invalid("poolset-dir {} needs the home directory, but HOME is not set; name an "
                           "absolute directory",
                           text);
        text.replace(position, variable.size(), home);
        position += home.size();
    }
    return std::filesystem::path(text);
}

template <typename T>
void take_over(std::optional<T>& lower, const std::optional<T>& upper) {
    if (upper)
        lower = upper;
}

} // namespace

Result<> apply_setting(Settings& settings, std::string_view key, std::string_view value) {
    for (const Key& known : keys) {
        if (known.name != key)
            continue;
        if (value.empty())
            return invalid("{} has no value", key);
        if (auto parsed = known.parse(settings, value); !parsed)
            return in_context(std::string(key), std::move(parsed).error());
        return {};
    }
    return invalid("unknown key \"{}\"; known are {}", key, names_of_keys());
}

Result<Settings> parse_configuration(std::string_view text, const std::filesystem::path& file) {
    Settings settings;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (auto parsed = parse_line(settings, line); !parsed) {
            Error error = std::move(parsed).error();
            error.text =
                fmt::format("{}, line {}: {}: {}", file.native(), number, error.text, shown(line));
            return Failure(std::move(error));
        }
    }
    return settings;
}

Result<Settings> read_configuration_file(const std::filesystem::path& file) {
    auto text = read_bounded(file);
    if (!text)
        return propagate(std::move(text));
    return parse_configuration(*text, file);
}

Settings overlay(const Settings& lower, const Settings& upper) {
    Settings merged = lower;
    take_over(merged.poolset_dir, upper.poolset_dir);
    take_over(merged.persist_apm, upper.persist_apm);
    take_over(merged.persist_general, upper.persist_general);
    take_over(merged.log_file, upper.log_file);
    take_over(merged.log_level, upper.log_level);
    take_over(merged.direct_access, upper.direct_access);
    take_over(merged.allow_outside, upper.allow_outside);
    take_over(merged.accept_timeout, upper.accept_timeout);
    take_over(merged.paging, upper.paging);
    take_over(merged.device, upper.device);
    if (upper.use_syslog)
        merged.use_syslog = upper.use_syslog;
    else if (upper.log_file)
        merged.use_syslog = false;
    return merged;
}

Result<Configuration> resolve(const Settings& settings, std::string_view home) {
    Configuration configuration;
    auto poolset_dir = expand_home(settings.poolset_dir.value_or("$HOME"), home);
    if (!poolset_dir)
        return propagate(std::move(poolset_dir));
    if (!poolset_dir->is_absolute())
        return invalid("poolset-dir {} is not absolute; write it with a leading slash, or $HOME",
                       poolset_dir->native());
    configuration.poolset_dir = std::move(*poolset_dir);
    configuration.persist_apm = settings.persist_apm.value_or(configuration.persist_apm);
    configuration.persist_general =
        settings.persist_general.value_or(configuration.persist_general);
    configuration.use_syslog = settings.use_syslog.value_or(configuration.use_syslog);
    configuration.log_file = settings.log_file.value_or(configuration.log_file);
    configuration.log_level = settings.log_level.value_or(configuration.log_level);
    configuration.direct_access = settings.direct_access.value_or(configuration.direct_access);
    configuration.allow_outside = settings.allow_outside.value_or(configuration.allow_outside);
    configuration.device = settings.device.value_or(configuration.device);
    if (settings.accept_timeout)
        configuration.accept_timeout = std::chrono::milliseconds(*settings.accept_timeout);
    configuration.paging = settings.paging.value_or(configuration.paging);
    if (!configuration.persist_apm && !configuration.persist_general)
        return invalid("persist-apm and persist-general are both off: nothing could be made "
                       "persistent; turn one of them on");
    if (!configuration.direct_access && !configuration.persist_general)
        return invalid("direct-access and persist-general are both off: without direct access this "
                       "node must make ranges persistent itself; turn one of them on");
    return configuration;
}

} // namespace rpmem::target
