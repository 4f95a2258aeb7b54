// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/control/control_address.hpp"

#include "common/base/text.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace rpmem::initiator {
namespace {

namespace files = std::filesystem;

constexpr mode_t private_mode = 0700;
constexpr std::size_t max_entries = 4096; // of the directory, for remove_stale_sockets()

// Returns the process of a socket, or nothing if it is another file.
std::optional<pid_t> process_of(std::string_view name) {
    constexpr std::string_view suffix = ".sock";
    if (!name.ends_with(suffix))
        return std::nullopt;
    const auto pid = parse_number<std::uint32_t>(name.substr(0, name.size() - suffix.size()));
    return pid && *pid > 0 && *pid <= std::numeric_limits<std::int32_t>::max()
               ? std::optional(static_cast<pid_t>(*pid))
               : std::nullopt;
}

Result<> require_own(const std::string& directory, mode_t forbidden) {
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot examine {}", directory);
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
        return fail(ErrorClass::caller_fault, EPERM,
                    "{} is not a directory of this user ({}), but of {}", directory, ::geteuid(),
                    status.st_uid);
    if ((status.st_mode & forbidden) != 0)
        return fail(ErrorClass::caller_fault, EPERM, "{} has mode {:o}; it must be 700", directory,
                    status.st_mode & 07777);
    return {};
}

} // namespace

Result<std::string> make_control_directory(const std::string& runtime_dir) {
    if (runtime_dir.empty())
        return fail(ErrorClass::caller_fault, ENOENT,
                    "XDG_RUNTIME_DIR is not set to an absolute path");
    RPMEM_TRY(in_context("XDG_RUNTIME_DIR", require_own(runtime_dir, 0)));
    const std::string directory = runtime_dir + "/librpmem";
    if (::mkdir(directory.c_str(), private_mode) != 0 && errno != EEXIST)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot create {}", directory);
    RPMEM_TRY(require_own(directory, S_IRWXG | S_IRWXO));
    return directory;
}

Result<sockaddr_un> control_address(const std::string& path) {
    sockaddr_un address{};
    if (path.size() >= sizeof(address.sun_path))
        return fail(ErrorClass::caller_fault, ENAMETOOLONG,
                    "the path {} has {} bytes; that of a socket has at most {}", path, path.size(),
                    sizeof(address.sun_path) - 1);
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    return address;
}

bool is_abandoned(const std::string& path) {
    const auto address = control_address(path);
    const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return address && probe &&
           ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
               0 &&
           errno == ECONNREFUSED;
}

// A process that has just bound its socket does not listen yet. So a socket is only stale if its
// process has ended, too.
void remove_stale_sockets(const std::string& directory) {
    std::error_code error;
    std::size_t entries = 0;
    for (files::directory_iterator each(directory, error), end;
         !error && each != end && ++entries <= max_entries; each.increment(error)) {
        const auto process = process_of(each->path().filename().native());
        if (process && ::kill(*process, 0) != 0 && errno == ESRCH && is_abandoned(each->path()))
            ::unlink(each->path().c_str());
    }
}

} // namespace rpmem::initiator
