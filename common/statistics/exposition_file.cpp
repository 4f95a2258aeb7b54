// SPDX-License-Identifier: BSD-3-Clause
#include "common/statistics/exposition_file.hpp"

#include "common/base/io.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rpmem::statistics {
namespace {

constexpr std::string_view ending = ".prom";
constexpr std::string_view ending_of_temporary = ".prom.new";

// The exporter is another user, as a rule. Who may read is for the mode of the directory to say.
constexpr mode_t mode_when_written = 0644;

std::string name_of(std::string_view program, pid_t process) {
    return fmt::format("{}-{}{}", program, process, ending);
}

// NAME without what it begins and ends with; nothing, if it does not.
std::optional<std::string_view> between(std::string_view begin, std::string_view name,
                                        std::string_view end) {
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size())
        return std::nullopt;
    return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

// The process whose file or temporary file is called NAME: exactly as we call ours.
std::optional<pid_t> writer_of(std::string_view program, std::string_view name) {
    const bool is_temporary = name.starts_with('.');
    const auto digits = between(fmt::format("{}{}-", is_temporary ? "." : "", program), name,
                                is_temporary ? ending_of_temporary : ending);
    if (!digits || digits->empty() || digits->front() == '0')
        return std::nullopt;
    pid_t process = 0;
    const auto [end, code] =
        std::from_chars(digits->data(), digits->data() + digits->size(), process);
    const bool is_whole = code == std::errc() && end == digits->data() + digits->size();
    return is_whole && process > 0 ? std::optional(process) : std::nullopt;
}

// One of another user's lives, too, although we may not send it a signal.
bool lives(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

} // namespace

ExpositionFile::ExpositionFile(UniqueFd directory, std::string path, std::string_view program)
    : directory_(std::move(directory)), path_(std::move(path)), program_(program),
      name_(name_of(program, ::getpid())), temporary_("." + name_ + ".new") {}

Result<ExpositionFile> ExpositionFile::open(const std::string& directory,
                                            std::string_view program) {
    UniqueFd opened(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot open the directory {}",
                          directory);
    return ExpositionFile(std::move(opened), directory, program);
}

Failure ExpositionFile::cannot(std::string_view step, const std::string& name) const {
    return fail_errno(ErrorClass::caller_fault, errno, "cannot {} {}/{}", step, path_, name);
}

Result<> ExpositionFile::replace(std::string_view text) const {
    constexpr std::chrono::seconds patience(5); // of a write, which nothing waits for
    static_cast<void>(::unlinkat(directory(), temporary_.c_str(), 0)); // of one that was killed
    const UniqueFd file(::openat(directory(), temporary_.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 mode_when_written));
    if (!file)
        return cannot("create", temporary_);
    RPMEM_TRY(in_context(
        temporary_, write_fully(file.get(), std::as_bytes(std::span(text)), Deadline(patience))));
    // The umask may have taken something away. A confined daemon may not ask for this, and has seen
    // to its umask.
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

void ExpositionFile::remove_of_the_dead() const {
    const int listed = ::openat(directory(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (listed < 0)
        return;
    const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(listed));
    if (!entries) {
        ::close(listed);
        return;
    }
    std::vector<std::string> dead;
    while (const dirent* const entry = ::readdir(entries.get()))
        if (const auto writer = writer_of(program_, entry->d_name); writer && !lives(*writer))
            dead.emplace_back(entry->d_name);
    for (const std::string& name : dead)
        static_cast<void>(::unlinkat(directory(), name.c_str(), 0));
}

} // namespace rpmem::statistics
