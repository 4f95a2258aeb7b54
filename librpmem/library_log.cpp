// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/library_log.hpp"

#include "librpmem/settings/load_time.hpp"

#include <unistd.h>

namespace rpmem::initiator {
namespace {

Log to_stderr(const Settings& settings) {
    return Log::to_stderr("librpmem", settings.log_level, standard_error_at_load());
}

} // namespace

Log open_log(const Settings& settings) {
    if (settings.log_level == LogLevel::none)
        return {};
    if (settings.log_file.empty())
        return to_stderr(settings);
    std::string path = settings.log_file;
    if (path.ends_with('-'))
        path += std::to_string(::getpid());
    auto log = Log::to_file(path, settings.log_level);
    if (log)
        return std::move(*log);
    Log instead = to_stderr(settings);
    instead.error("RPMEM_LOG_FILE: {}; standard error is used", log.error().text);
    return instead;
}

std::string_view kind_of(ErrorClass kind) {
    switch (kind) {
    case ErrorClass::caller_fault:
        return "wrong argument, setting or file";
    case ErrorClass::target_refused:
        return "refused by a target";
    case ErrorClass::link_lost:
        return "lost connection";
    case ErrorClass::medium_failed:
        return "failed medium";
    case ErrorClass::resource_limit:
        return "limit of this system";
    case ErrorClass::bug:
        break;
    }
    return "fault of librpmem";
}

} // namespace rpmem::initiator
