// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/log.hpp"

#include "common/base/held_signals.hpp"
#include "common/base/line_limit.hpp"
#include "common/base/log_file.hpp"
#include "common/base/unique_fd.hpp"

#include <limits.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <ctime>
#include <mutex>

namespace rpmem {
namespace {

// Timeout of a write. Standard error may be a pipe whose reader has stopped reading.
constexpr int write_milliseconds = 100;
// A pipe that poll(2) reports as writable accepts this many bytes without blocking.
constexpr std::size_t max_line = PIPE_BUF;

// The levels of spdlog in the order of LogLevel. spdlog has no level for notices, so they are
// logged as info.
constexpr spdlog::level::level_enum levels[] = {spdlog::level::off,  spdlog::level::err,
                                                spdlog::level::warn, spdlog::level::info,
                                                spdlog::level::info, spdlog::level::debug};

// Calls write(2) once per line, so that lines of several processes do not mix. A line that cannot
// be written is dropped, because there is nowhere to report that.
void write_line(int fd, std::string_view line) {
    pollfd wanted{fd, POLLOUT, 0};
    if (::poll(&wanted, 1, write_milliseconds) != 1)
        return;
    const HeldSignals held_back;
    static_cast<void>(!::write(fd, line.data(), line.size()));
}

// Writes to a file, or to standard error while that refers to the expected file.
class DescriptorSink : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit DescriptorSink(UniqueFd file) : file_(std::move(file)) {}
    explicit DescriptorSink(std::optional<FileIdentity> expected) : expected_(expected) {}

private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        if (!file_ && (!expected_ || identity_of(STDERR_FILENO) != expected_))
            return;
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        if (!file_ && line.size() > max_line) {
            line.resize(max_line);
            line[max_line - 1] = '\n';
        }
        write_line(file_ ? file_.get() : STDERR_FILENO, {line.data(), line.size()});
    }
    void flush_() override {}

    const UniqueFd file_;
    const std::optional<FileIdentity> expected_;
};

} // namespace

class Log::Destination {
public:
    Destination(spdlog::sink_ptr sink, const std::string& pattern)
        : logger_("rpmem", std::move(sink)) {
        logger_.set_pattern(pattern);
        logger_.set_level(spdlog::level::trace);
    }
    ~Destination() {
        limit_.for_each_dropped(
            [this](std::string_view kind, unsigned dropped) { log_dropped(kind, dropped); });
    }
    Destination(const Destination&) = delete;
    Destination& operator=(const Destination&) = delete;

    void write(LogLevel level, std::string_view kind, std::string_view text) {
        const std::lock_guard lock(mutex_);
        if (level != LogLevel::debug) {
            const auto [admitted, dropped] = limit_.admit(kind, std::chrono::steady_clock::now());
            if (dropped > 0)
                log_dropped(kind, dropped);
            if (!admitted)
                return;
        }
        logger_.log(levels[static_cast<std::size_t>(level)], printable(text));
    }

private:
    void log_dropped(std::string_view kind, unsigned dropped) {
        logger_.log(spdlog::level::warn, fmt::format("{} more lines like \"{}\" were left out",
                                                     dropped, printable(kind)));
    }

    std::mutex mutex_;
    LineLimit limit_;
    spdlog::logger logger_;
};

Result<Log> Log::to_file(const std::string& path, LogLevel level) {
    RPMEM_ASSIGN(auto file, open_log_file(path));
    return Log(std::make_shared<Destination>(std::make_shared<DescriptorSink>(std::move(file)),
                                             "%Y-%m-%d %H:%M:%S.%e [%P] %l: %v"),
               level);
}

Log Log::to_syslog(const std::string& identity, LogLevel level) {
    return Log(std::make_shared<Destination>(std::make_shared<spdlog::sinks::syslog_sink_mt>(
                                                 identity, LOG_PID | LOG_NDELAY, LOG_DAEMON, true),
                                             "%v"),
               level);
}

Log Log::to_stderr(const std::string& prefix, LogLevel level,
                   std::optional<FileIdentity> expected) {
    return Log(std::make_shared<Destination>(std::make_shared<DescriptorSink>(expected),
                                             prefix + "[%P]: %l: %v"),
               level);
}

void Log::write(LogLevel level, std::string_view kind, std::string_view text) const {
    destination_->write(level, kind, text);
}

std::optional<FileIdentity> identity_of(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return std::nullopt;
    return FileIdentity{status.st_dev, status.st_ino};
}

} // namespace rpmem
