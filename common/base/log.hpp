// Where messages for people go: a file, syslog or standard error. A value that is passed to those
// who log; copies share the destination. Never used on the way of a persist.
#pragma once

#include "base/result.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace rpmem {

enum class LogLevel { none, error, warning, notice, info, debug };

// TEXT with every control character replaced: what a peer sends, a name for instance, must not be
// able to start a line of its own in a log or to command a terminal.
[[nodiscard]] std::string printable(std::string_view text);

class Log {
public:
    Log() = default; // says nothing
    static Result<Log> to_file(const std::string& path, LogLevel level);
    static Log to_syslog(const std::string& identity, LogLevel level);
    static Log to_stderr(LogLevel level);

    [[nodiscard]] bool enabled(LogLevel level) const { return logger_ && level <= level_; }
    void write(LogLevel level, std::string_view text) const;

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) const {
        log(LogLevel::error, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void warning(fmt::format_string<Args...> format, Args&&... args) const {
        log(LogLevel::warning, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void notice(fmt::format_string<Args...> format, Args&&... args) const {
        log(LogLevel::notice, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) const {
        log(LogLevel::info, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void debug(fmt::format_string<Args...> format, Args&&... args) const {
        log(LogLevel::debug, format, std::forward<Args>(args)...);
    }

private:
    Log(std::shared_ptr<spdlog::logger> logger, LogLevel level)
        : logger_(std::move(logger)), level_(level) {}

    template <typename... Args>
    void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
        if (enabled(level))
            write(level, fmt::format(format, std::forward<Args>(args)...));
    }

    std::shared_ptr<spdlog::logger> logger_;
    LogLevel level_ = LogLevel::none;
};

} // namespace rpmem
