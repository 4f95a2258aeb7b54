#include "base/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <syslog.h>

#include <algorithm>

namespace rpmem {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
    case LogLevel::error:
        return spdlog::level::err;
    case LogLevel::warning:
        return spdlog::level::warn;
    case LogLevel::notice: // spdlog has no notice; it lies between warning and info
    case LogLevel::info:
        return spdlog::level::info;
    default:
        return spdlog::level::debug;
    }
}

// Lines say who wrote them: several processes share one file.
std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, const char* pattern) {
    auto logger = std::make_shared<spdlog::logger>("rpmem", std::move(sink));
    logger->set_pattern(pattern);
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    return logger;
}

constexpr const char* file_pattern = "%Y-%m-%d %H:%M:%S.%e [%P] %l: %v";

} // namespace

Result<Log> Log::to_file(const std::string& path, LogLevel level) {
    try {
        return Log(
            make_logger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path), file_pattern),
            level);
    } catch (const spdlog::spdlog_ex& exception) {
        return fail(ErrorClass::caller_fault, EACCES,
                    "cannot open the log file {}: {}; name another one or make it writable", path,
                    exception.what());
    }
}

Log Log::to_syslog(const std::string& identity, LogLevel level) {
    return Log(make_logger(std::make_shared<spdlog::sinks::syslog_sink_mt>(identity, LOG_PID,
                                                                           LOG_DAEMON, true),
                           "%v"),
               level);
}

Log Log::to_stderr(LogLevel level) {
    return Log(make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>(), file_pattern), level);
}

void Log::write(LogLevel level, std::string_view text) const {
    if (enabled(level))
        logger_->log(to_spdlog(level), printable(text));
}

std::string printable(std::string_view text) {
    std::string result(text);
    std::ranges::replace_if(
        result, [](unsigned char character) { return character < 0x20 || character == 0x7f; }, '?');
    return result;
}

} // namespace rpmem
