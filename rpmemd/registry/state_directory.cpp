// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/state_directory.hpp"

#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace rpmem::target {
namespace {

constexpr mode_t own_directory = 0700;

// Maximum number of directories to create: those of the default $HOME/.local/state/rpmemd below the
// home directory. The home directory itself is not created, for example /nonexistent of nobody.
constexpr std::ptrdiff_t max_made = 3;

struct Close {
    void operator()(DIR* listing) const { ::closedir(listing); }
};

Result<ResolvedPath> find_or_make(const std::filesystem::path& path) {
    RPMEM_ASSIGN(auto place, find_place(path));
    if (place.status)
        return place;
    // Another daemon may create it at the same time.
    if (::mkdirat(place.entry.directory.get(), place.entry.name.c_str(), own_directory) != 0 &&
        errno != EEXIST)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make directory {}",
                          path.native());
    // Otherwise a power failure could remove the directory with its records.
    RPMEM_TRY(sync_directory(place.entry, path));
    return find_place(path);
}

// Checks the limit before any directory is created.
Result<> check_makable(const std::filesystem::path& path) {
    std::filesystem::path existing = path;
    std::error_code unknown;
    std::ptrdiff_t missing = 0;
    for (; !std::filesystem::exists(existing, unknown) && !unknown && existing.has_relative_path();
         existing = existing.parent_path())
        missing += existing.has_filename() ? 1 : 0;
    if (missing <= max_made)
        return {};
    return fail(ErrorClass::caller_fault, ENOENT,
                "state-dir {} lacks {} directories below {}; rpmemd creates at most {}, and no "
                "home directory; create them, or set state-dir to another path",
                path.native(), missing, existing.native(), max_made);
}

Result<UniqueFd> open_own(const ResolvedPath& place, const std::filesystem::path& path) {
    UniqueFd directory = open_place(place, O_RDONLY | O_DIRECTORY);
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot open directory {}",
                          path.native());
    if (status.st_uid != ::geteuid())
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} belongs to user {}: each user needs a state-dir of their own",
                    path.native(), status.st_uid);
    RPMEM_TRY(check_ownership(directory.get(), status, path));
    return directory;
}

} // namespace

Result<StateDirectory> StateDirectory::open(const std::filesystem::path& path) {
    if (!path.is_absolute())
        return fail(ErrorClass::caller_fault, EINVAL,
                    "state-dir {} needs the home directory, but HOME is not set; set state-dir to "
                    "an absolute path",
                    path.native());
    RPMEM_TRY(check_makable(path));
    std::filesystem::path so_far = path.root_path();
    RPMEM_ASSIGN(auto place, find_place(so_far));
    for (const auto& name : path.relative_path()) {
        if (name.empty())
            continue;
        so_far /= name;
        RPMEM_ASSIGN(place, find_or_make(so_far));
    }
    RPMEM_ASSIGN(auto directory, open_own(place, so_far));
    return StateDirectory(std::move(directory), std::move(so_far));
}

std::vector<std::string> StateDirectory::names(std::string_view prefix) const {
    std::vector<std::string> found;
    UniqueFd again(::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, Close> listing(again ? ::fdopendir(again.get()) : nullptr);
    if (!listing)
        return found;
    static_cast<void>(again.release()); // the listing owns it
    while (const dirent* entry = ::readdir(listing.get())) {
        if (found.size() == max_listed)
            break;
        if (const std::string_view name = entry->d_name; name.starts_with(prefix))
            found.emplace_back(name);
    }
    return found;
}

Result<> StateDirectory::sync() const {
    // Some file systems cannot sync directories and report EINVAL.
    if (::fsync(fd()) != 0 && errno != EINVAL)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make directory {} durable",
                          path_.native());
    return {};
}

} // namespace rpmem::target
