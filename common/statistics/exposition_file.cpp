// SPDX-License-Identifier: BSD-3-Clause
#include "common/statistics/exposition_file.hpp"

#include "common/base/io.hpp"
#include "common/base/kernel_files.hpp"
#include "common/base/text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rpmem::statistics {
namespace {

constexpr std::string_view ending = ".prom";
constexpr std::string_view ending_of_temporary = ".prom.new";

// The exporter usually runs as another user. The mode of the directory restricts who may read.
constexpr mode_t mode_when_written = 0644;

constexpr std::size_t boot_digits = 8;

// Identifies the PID namespace. All processes without /proc have the same identity.
std::string namespace_of_processes() {
    struct stat status {};
    static_cast<void>(::stat("/proc/self/ns/pid", &status)); // st_ino stays 0 if this fails
    return fmt::format("{}-{}", line_of("/proc/sys/kernel/random/boot_id").substr(0, boot_digits),
                       status.st_ino);
}

// Returns the part of NAME between BEGIN and END. Returns nothing if NAME has another beginning or
// end.
std::optional<std::string_view> between(std::string_view begin, std::string_view name,
                                        std::string_view end) {
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size())
        return std::nullopt;
    return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

// Returns the process that wrote NAME, a file or a temporary file of this PID namespace. BEGIN is
// the part of the stem before the PID. Returns nothing for any other file.
std::optional<pid_t> writer_of(const std::string& begin, std::string_view name) {
    const bool is_temporary = name.starts_with('.');
    const auto digits = between((is_temporary ? "." : "") + begin, name,
                                is_temporary ? ending_of_temporary : ending);
    if (!digits || digits->empty() || digits->front() == '0')
        return std::nullopt;
    const auto process = parse_number<std::uint32_t>(*digits);
    if (!process || *process > static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max()))
        return std::nullopt;
    return static_cast<pid_t>(*process);
}

// Returns whether a process of PROGRAM in another PID namespace, or of an earlier version, may have
// written NAME.
bool is_foreign(std::string_view program, std::string_view name) {
    const bool is_temporary = name.starts_with('.');
    const auto middle = between(fmt::format("{}{}-", is_temporary ? "." : "", program), name,
                                is_temporary ? ending_of_temporary : ending);
    return middle && !middle->empty() &&
           middle->find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

bool is_old(int directory, const char* name) {
    struct stat status {};
    return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           std::time(nullptr) - status.st_mtime > max_age.count();
}

// Returns whether PROCESS exists. For a process of another user, kill(2) fails with EPERM.
bool lives(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

} // namespace

std::string stem_of_process(std::string_view program, pid_t process) {
    return fmt::format("{}-{}-{}", program, namespace_of_processes(), process);
}

ExpositionFile::ExpositionFile(UniqueFd directory, std::string path, const std::string& stem)
    : directory_(std::move(directory)), path_(std::move(path)), name_(stem + std::string(ending)),
      temporary_("." + stem + std::string(ending_of_temporary)) {}

Result<ExpositionFile> ExpositionFile::open(const std::string& directory, const std::string& stem) {
    UniqueFd opened(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot open the directory {}",
                          directory);
    return ExpositionFile(std::move(opened), directory, stem);
}

Failure ExpositionFile::cannot(std::string_view step, const std::string& name) const {
    return fail_errno(ErrorClass::caller_fault, errno, "cannot {} {}/{}", step, path_, name);
}

Result<> ExpositionFile::replace(std::string_view text) const {
    constexpr std::chrono::seconds write_timeout(5);
    // An earlier process with this PID may have been killed while it wrote.
    static_cast<void>(::unlinkat(directory(), temporary_.c_str(), 0));
    const UniqueFd file(::openat(directory(), temporary_.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 mode_when_written));
    if (!file)
        return cannot("create", temporary_);
    RPMEM_TRY(in_context(temporary_, write_fully(file.get(), std::as_bytes(std::span(text)),
                                                 Deadline(write_timeout))));
    // The umask may have removed permissions. A confined daemon may not call fchmod(2), so it sets
    // a umask that keeps them.
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || ((status.st_mode & ACCESSPERMS) != mode_when_written &&
                                              ::fchmod(file.get(), mode_when_written) != 0))
        return cannot("change the mode of", temporary_);
    if (::renameat(directory(), temporary_.c_str(), directory(), name_.c_str()) != 0)
        return cannot("rename", temporary_);
    return {};
}

void ExpositionFile::remove() const noexcept {
    static_cast<void>(::unlinkat(directory(), name_.c_str(), 0));
}

void ExpositionFile::remove_of_the_dead(std::string_view program) const {
    const int listed = ::openat(directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listed < 0)
        return;
    const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(listed));
    if (!entries) {
        ::close(listed);
        return;
    }
    const std::string own = fmt::format("{}-{}-", program, namespace_of_processes());
    std::vector<std::string> dead;
    while (const dirent* const entry = ::readdir(entries.get()))
        if (const auto writer = writer_of(own, entry->d_name);
            writer ? !lives(*writer)
                   : is_foreign(program, entry->d_name) && is_old(directory(), entry->d_name))
            dead.emplace_back(entry->d_name);
    for (const std::string& name : dead)
        static_cast<void>(::unlinkat(directory(), name.c_str(), 0));
}

} // namespace rpmem::statistics
