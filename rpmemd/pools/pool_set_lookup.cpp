// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/pool_set_lookup.hpp"

#include "common/base/io.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace rpmem::target {
namespace {

constexpr std::chrono::seconds write_time(10); // timeout for writing a pool set file

Result<> check_name(std::string_view name) {
    if (name.empty())
        return invalid("the name of the pool set is empty");
    if (name.find('\0') != std::string_view::npos)
        return invalid("the name of the pool set has a NUL in it");
    if (name.starts_with('/'))
        return fail(ErrorClass::caller_fault, EBADF,
                    "the name of pool set {} is absolute; give it relative to poolset-dir", name);
    return {};
}

Failure cannot_open(const PoolOptions& options, const std::string& name, Error error) {
    if (error.code == EXDEV)
        return fail(
            ErrorClass::caller_fault, EBADF,
            "pool set {} leads out of {} by \"..\" or a symbolic link; move it there or let "
            "the configuration allow it",
            name, options.poolset_dir.native());
    if (error.code == ENOTDIR)
        error.code = ENOENT;
    return in_context(
        fmt::format("cannot open pool set {} in {}", name, options.poolset_dir.native()),
        std::move(error));
}

Failure cannot_open(const PoolOptions& options, const std::string& name, int code) {
    return cannot_open(options, name,
                       {code, ErrorClass::caller_fault, std::generic_category().message(code)});
}

// Returns the place of the file NAME, which need not exist.
Result<ResolvedPath> find_place_of(const PoolOptions& options, const std::string& name) {
    if (options.allow_outside)
        return find_place(options.poolset_dir / name);
    return resolve_beneath(options.poolset_dir, name,
                           options.refuse_hidden ? Hidden::refused : Hidden::allowed);
}

Result<ResolvedPath> find_by_name(const PoolOptions& options, const std::string& name) {
    auto place = options.allow_outside ? find_place(options.poolset_dir / name)
                                       : resolve_beneath(options.poolset_dir, name);
    if (!place)
        return cannot_open(options, name, std::move(place).error());
    if (!place->status)
        return cannot_open(options, name, ENOENT);
    return place;
}

// Refuses a pool set file that other users could have written, because its parts could then be any
// files of the daemon's user.
Result<UniqueFd> open_by_name(const PoolOptions& options, const ResolvedPath& place,
                              const std::string& name) {
    // With O_NONBLOCK a FIFO with this name does not block the daemon.
    UniqueFd file = open_place(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file)
        return cannot_open(options, name, errno);
    struct stat status {};
    if (fstat(file.get(), &status) != 0)
        return fail_errno(ErrorClass::bug, errno, "cannot examine pool set {}", name);
    if (!S_ISREG(status.st_mode))
        return invalid("pool set {} is not a regular file", name);
    const std::string path = options.poolset_dir / name;
    RPMEM_TRY(in_context("pool set", check_ownership(file.get(), status, path)));
    return file;
}

// Identifies a file whatever its path, which may contain ".." or be a link.
using FileIdentity = std::tuple<dev_t, ino_t, std::string>;

// A file that does not exist yet is identified by its directory and its name. Returns nothing if
// the path cannot be followed, which opening it reports.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
        return FileIdentity(status.st_dev, status.st_ino, "");
    if (errno != ENOENT || ::stat(path.parent_path().c_str(), &status) != 0)
        return std::nullopt;
    return FileIdentity(status.st_dev, status.st_ino, path.filename().native());
}

struct FoundText {
    ResolvedPath place;
    std::string text;
};

Result<FoundText> find_text(const PoolOptions& options, const std::string& name) {
    RPMEM_TRY(check_name(name));
    RPMEM_ASSIGN(auto place, find_by_name(options, name));
    RPMEM_ASSIGN(const auto file, open_by_name(options, place, name));
    // One byte more than the limit, so that the parser notices a file that is too large.
    std::string text(max_pool_set_file_size + 1, '\0');
    if (const int code = read_file(file.get(), text); code != 0)
        return fail_errno(ErrorClass::resource_limit, code, "cannot read pool set {}", name);
    return FoundText{std::move(place), std::move(text)};
}

} // namespace

Result<PoolSet> load_pool_set(const PoolOptions& options, std::string_view name) {
    const std::string path(name);
    RPMEM_ASSIGN(const auto found, find_text(options, path));
    return parse_pool_set(found.text, path);
}

std::optional<SameFile> find_same_file(std::span<const std::filesystem::path> parts) {
    std::map<FileIdentity, std::size_t> known;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (auto identity = identity_of(parts[i])) {
            const auto [place, is_new] = known.try_emplace(std::move(*identity), i);
            if (!is_new)
                return SameFile{place->second, i};
        }
    return std::nullopt;
}

Failure describe(const SameFile& same, std::span<const std::filesystem::path> parts) {
    return invalid("parts {} and {} of the pool set are one file; give each part a file of its own",
                   parts[same.first].native(), parts[same.second].native());
}

Result<> check_distinct(std::span<const std::filesystem::path> parts) {
    const auto same = find_same_file(parts);
    return same ? describe(*same, parts) : Result<>();
}

std::vector<std::filesystem::path> paths_of(const PoolSet& pool_set) {
    std::vector<std::filesystem::path> paths;
    for (const PoolSetPart& part : pool_set.parts)
        paths.push_back(part.path);
    return paths;
}

Result<> write_pool_set(const PoolOptions& options, std::string_view name, std::string_view text) {
    constexpr mode_t own_file = 0600;
    const std::string path(name);
    RPMEM_TRY(check_name(name));
    RPMEM_TRY(parse_pool_set(text, name));
    auto place = find_place_of(options, path);
    if (!place)
        return cannot_open(options, path, std::move(place).error());
    const Entry& named = place->named();
    const UniqueFd file(::openat(named.directory.get(), named.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own_file));
    if (!file)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot make pool set {} in {}", path,
                          options.poolset_dir.native());
    auto written = write_fully(file.get(), std::as_bytes(std::span(text)), Deadline(write_time));
    if (written && ::fsync(file.get()) != 0)
        written = fail_errno(ErrorClass::resource_limit, errno, "cannot make it durable");
    if (written)
        written = sync_directory(named, options.poolset_dir / path);
    if (written)
        return {};
    static_cast<void>(::unlinkat(named.directory.get(), named.name.c_str(), 0));
    return in_context(fmt::format("cannot write pool set {}", path), std::move(written));
}

Result<> check_new_part(const PoolOptions& options, const std::string& name) {
    auto place = find_place_of(options, name);
    if (!place)
        return cannot_open(options, name, std::move(place).error());
    if (place->status || place->link)
        return fail(ErrorClass::caller_fault, EACCES,
                    "this key may not create part {} in {}: it is there already", name,
                    options.poolset_dir.native());
    return {};
}

Result<> unlink_pool_set(const PoolOptions& options, std::string_view name) {
    const std::string path(name);
    RPMEM_ASSIGN(const auto found, find_text(options, path));
    if (!begins_as_pool_set(found.text))
        return invalid(
            "{} in {} is not removed: it is no pool set file, its first line is not PMEMPOOLSET",
            path, options.poolset_dir.native());
    const Entry& named = found.place.named();
    if (unlinkat(named.directory.get(), named.name.c_str(), 0) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot remove pool set {} in {}", path,
                          options.poolset_dir.native());
    return sync_directory(named, options.poolset_dir / path);
}

} // namespace rpmem::target
