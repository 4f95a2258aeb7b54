// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/trusted_path.hpp"

#include "rpmemd/pools/files/owner_and_mode.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <utility>
#include <vector>

namespace rpmem::target {
namespace {

constexpr unsigned max_links = 40; // like the kernel
constexpr std::size_t max_quoted_path = 120;

// Resolves a path component by component.
class PathWalk {
public:
    // Starts at the root directory.
    static Result<PathWalk> start();
    // Follows PATH to a directory. A relative path starts at the current directory of the walk.
    Result<> enter(const std::filesystem::path& path);
    // From now on ".." and links must not lead out of the current directory.
    void stay_beneath(Hidden hidden) {
        floor_ = levels_.size();
        hidden_ = hidden;
    }
    // Follows PATH. The last component may be a file of any type, or missing.
    Result<ResolvedPath> find(const std::filesystem::path& path);

private:
    struct Level {
        UniqueFd directory;
        std::string path;
        bool shared; // has the sticky bit, so other users may create files in it
    };

    Result<> take(const std::filesystem::path& path);
    Result<> step_up();
    Result<> step_into(UniqueFd directory, const struct stat& status, const std::string& name);
    Result<> follow(const UniqueFd& link, const struct stat& status, const std::string& name);
    Result<std::optional<ResolvedPath>> step();
    Result<ResolvedPath> place_here(std::string name, std::optional<struct stat> status);
    [[nodiscard]] Result<Entry> entry_here(std::string name) const;
    [[nodiscard]] std::string path_of(const std::string& name) const;
    [[nodiscard]] Failure leads_out() const;

    std::vector<Level> levels_;
    std::size_t floor_ = 0; // number of levels that must not be left, or 0
    Hidden hidden_ = Hidden::allowed;
    std::deque<std::string> rest_; // components that are still to be followed
    bool enters_last_ = false;     // the last component must be a directory, too
    std::optional<Entry> link_;
    unsigned links_ = 0;
};

Failure walk_failure(int code, const std::string& path) {
    return fail_errno(ErrorClass::caller_fault, code, "{}", path);
}

Result<PathWalk> PathWalk::start() {
    PathWalk walk;
    UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!root || fstat(root.get(), &status) != 0)
        return walk_failure(errno, "/");
    RPMEM_TRY(walk.step_into(std::move(root), status, ""));
    return walk;
}

std::string PathWalk::path_of(const std::string& name) const {
    if (levels_.size() <= 1)
        return "/" + name;
    return levels_.back().path + "/" + name;
}

Failure PathWalk::leads_out() const {
    return fail(ErrorClass::caller_fault, EXDEV, "the path leads out of {}",
                levels_[floor_ - 1].path);
}

// Prepends the components of PATH to rest_.
Result<> PathWalk::take(const std::filesystem::path& path) {
    if (path.native().size() >= PATH_MAX)
        return walk_failure(ENAMETOOLONG, path_of(path.native().substr(0, max_quoted_path)));
    if (path.is_absolute()) {
        if (floor_ != 0)
            return leads_out();
        levels_.resize(1);
    }
    std::vector<std::string> names;
    for (const auto& name : path.relative_path())
        if (!name.empty() && name != ".")
            names.push_back(name.native());
    rest_.insert(rest_.begin(), names.begin(), names.end());
    return {};
}

Result<> PathWalk::step_up() {
    if (floor_ != 0 && levels_.size() == floor_)
        return leads_out();
    if (levels_.size() > 1)
        levels_.pop_back();
    return {};
}

Result<> PathWalk::step_into(UniqueFd directory, const struct stat& status,
                             const std::string& name) {
    std::string path = path_of(name);
    if (!S_ISDIR(status.st_mode))
        return walk_failure(ENOTDIR, path);
    const bool sticky = (status.st_mode & S_ISVTX) != 0;
    RPMEM_TRY(check_ownership(directory.get(), status, path, sticky ? S_IWGRP | S_IWOTH : 0));
    levels_.push_back({std::move(directory), std::move(path), sticky});
    return {};
}

Result<> PathWalk::follow(const UniqueFd& link, const struct stat& status,
                          const std::string& name) {
    // In a shared directory another user could have created the link.
    if (levels_.back().shared)
        RPMEM_TRY(check_ownership(link.get(), status, path_of(name), S_IWGRP | S_IWOTH));
    if (++links_ > max_links)
        return walk_failure(ELOOP, path_of(name));
    if (rest_.empty() && !enters_last_ && !link_) {
        RPMEM_ASSIGN(link_, entry_here(name));
    }
    char target[PATH_MAX];
    const auto length = readlinkat(link.get(), "", target, sizeof(target));
    if (length < 0)
        return walk_failure(errno, path_of(name));
    return take(std::string(target, static_cast<std::size_t>(length)));
}

Result<Entry> PathWalk::entry_here(std::string name) const {
    UniqueFd directory(fcntl(levels_.back().directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory)
        return fail_errno(ErrorClass::resource_limit, errno, "{}", levels_.back().path);
    return Entry{std::move(directory), std::move(name)};
}

Result<ResolvedPath> PathWalk::place_here(std::string name, std::optional<struct stat> status) {
    RPMEM_ASSIGN(auto entry, entry_here(std::move(name)));
    return ResolvedPath{std::move(entry), std::move(link_), status};
}

// Follows one component. Returns the place if that was the last one.
Result<std::optional<ResolvedPath>> PathWalk::step() {
    const std::string name = std::move(rest_.front());
    rest_.pop_front();
    const bool is_last = rest_.empty() && !enters_last_;
    if (name == "..") {
        RPMEM_TRY(step_up());
        return std::nullopt;
    }
    if (hidden_ == Hidden::refused && name.starts_with('.'))
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} begins with \".\", and this key may not create hidden files",
                    path_of(name));
    UniqueFd next(
        openat(levels_.back().directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next && errno == ENOENT && is_last)
        return place_here(name, std::nullopt);
    struct stat status {};
    if (!next || fstat(next.get(), &status) != 0)
        return walk_failure(errno, path_of(name));
    if (S_ISLNK(status.st_mode))
        RPMEM_TRY(follow(next, status, name));
    else if (is_last)
        return place_here(name, status);
    else
        RPMEM_TRY(step_into(std::move(next), status, name));
    return std::nullopt;
}

Result<ResolvedPath> PathWalk::find(const std::filesystem::path& path) {
    RPMEM_TRY(take(path));
    while (!rest_.empty()) {
        RPMEM_ASSIGN(auto place, step());
        if (place)
            return std::move(*place);
    }
    struct stat status {};
    if (fstat(levels_.back().directory.get(), &status) != 0)
        return walk_failure(errno, levels_.back().path);
    return place_here(".", status);
}

Result<> PathWalk::enter(const std::filesystem::path& path) {
    enters_last_ = true;
    auto entered = find(path);
    enters_last_ = false;
    link_.reset();
    RPMEM_TRY(std::move(entered));
    return {};
}

} // namespace

Result<ResolvedPath> find_place(const std::filesystem::path& path) {
    RPMEM_ASSIGN(auto walk, PathWalk::start());
    return walk.find(path);
}

Result<ResolvedPath> resolve_beneath(const std::filesystem::path& directory,
                                     const std::string& name, Hidden hidden) {
    RPMEM_ASSIGN(auto walk, PathWalk::start());
    RPMEM_TRY(walk.enter(directory));
    walk.stay_beneath(hidden);
    return walk.find(name);
}

UniqueFd open_place(const ResolvedPath& place, int flags) {
    return UniqueFd(openat(place.entry.directory.get(), place.entry.name.c_str(),
                           flags | O_NOFOLLOW | O_CLOEXEC));
}

Result<> sync_directory(const Entry& entry, const std::filesystem::path& path) {
    const UniqueFd directory(
        openat(entry.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Without read permission a directory cannot be opened for fsync(2). Some file systems cannot
    // sync directories and report EINVAL.
    if (!directory && errno == EACCES)
        return {};
    if (!directory || (fsync(directory.get()) != 0 && errno != EINVAL))
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make directory {} durable",
                          path.parent_path().native());
    return {};
}

} // namespace rpmem::target
