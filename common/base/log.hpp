// SPDX-License-Identifier: BSD-3-Clause
// A log that writes to a file, to syslog or to standard error. It is passed by value, and copies
// share the destination. The path of a persist never logs.
#pragma once

#include "common/base/escaping.hpp"
#include "common/base/result.hpp"

#include <fmt/format.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem {

enum class LogLevel { none, error, warning, notice, info, debug };

// Identifies the file that a descriptor refers to.
struct FileIdentity {
    dev_t device;
    ino_t inode;
    bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] std::optional<FileIdentity> identity_of(int fd);

class Log {
public:
    Log() = default; // writes nothing

    // Appends to the file PATH, and creates it if it is missing, but not its directory. Symbolic
    // links are not followed. Each line names its process, because several processes share a file.
    static Result<Log> to_file(const std::string& path, LogLevel level);
    static Log to_syslog(const std::string& identity, LogLevel level);
    // Each line begins with PREFIX. Lines are written only while standard error is the file
    // EXPECTED: the program may have closed it and opened another file with that number.
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

    // Lines with the same FORMAT are of one kind. At most 10 lines of a kind are written a second,
    // followed by the number of dropped ones. Lines of level debug are not limited.
    template <typename... Args>
    void line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
        if (!enabled(level))
            return;
        const fmt::string_view kind = format;
        write(level, {kind.data(), kind.size()}, fmt::format(format, std::forward<Args>(args)...));
    }

    // Like error(), for lines whose format does not identify their kind. KIND must outlive the log.
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
