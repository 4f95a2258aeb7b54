// SPDX-License-Identifier: BSD-3-Clause
// Where messages for people go: a file, syslog or standard error. A value that is passed to those
// who log; copies share the destination. Never used on the way of a persist.
#pragma once

#include "common/base/result.hpp"

#include <fmt/format.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem {

enum class LogLevel { none, error, warning, notice, info, debug };

// TEXT with every byte that is not a printable character of ASCII written as \xNN: what a peer
// sends, a name for instance, must not be able to start a line of its own in a log or to command a
// terminal.
[[nodiscard]] std::string printable(std::string_view text);

// Which file a descriptor is open on.
struct FileIdentity {
    dev_t device;
    ino_t inode;
    bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] std::optional<FileIdentity> identity_of(int fd);

class Log {
public:
    Log() = default; // says nothing

    // Appends; a file that is not there is made, its directory is not, and no symbolic link is
    // followed. Lines say who wrote them, because several processes share one file.
    static Result<Log> to_file(const std::string& path, LogLevel level);
    static Log to_syslog(const std::string& identity, LogLevel level);
    // Lines begin with PREFIX. They are written only while standard error is open on EXPECTED: a
    // program may have closed it, and have opened a file of its own with that number.
    static Log to_stderr(const std::string& prefix, LogLevel level,
                         std::optional<FileIdentity> expected);

    [[nodiscard]] bool enabled(LogLevel level) const { return destination_ && level <= level_; }

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) const {
        line(LogLevel::error, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void warning(fmt::format_string<Args...> format, Args&&... args) const {
        line(LogLevel::warning, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void notice(fmt::format_string<Args...> format, Args&&... args) const {
        line(LogLevel::notice, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void info(fmt::format_string<Args...> format, Args&&... args) const {
        line(LogLevel::info, format, std::forward<Args>(args)...);
    }
    template <typename... Args>
    void debug(fmt::format_string<Args...> format, Args&&... args) const {
        line(LogLevel::debug, format, std::forward<Args>(args)...);
    }

    // Lines with one FORMAT are of one kind: of those at most 10 a second are written, and then how
    // many were not. At level debug all are.
    template <typename... Args>
    void line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
        if (!enabled(level))
            return;
        const fmt::string_view kind = format;
        write(level, {kind.data(), kind.size()}, fmt::format(format, std::forward<Args>(args)...));
    }

    // As error(), for lines whose format does not tell their kind. KIND must outlive the log.
    void error_of_kind(std::string_view kind, std::string_view text) const {
        if (enabled(LogLevel::error))
            write(LogLevel::error, kind, text);
    }

private:
    class Destination;
    Log(std::shared_ptr<Destination> destination, LogLevel level)
        : destination_(std::move(destination)), level_(level) {}

    void write(LogLevel level, std::string_view kind, std::string_view text) const;

    std::shared_ptr<Destination> destination_;
    LogLevel level_ = LogLevel::none;
};

} // namespace rpmem
