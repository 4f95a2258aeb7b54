// SPDX-License-Identifier: BSD-3-Clause
#include "common/pools/part_layout.hpp"
#include "rpmemd/pools/files/part_directory.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/headers/first_page.hpp"
#include "rpmemd/pools/headers/header_copy.hpp"
#include "rpmemd/pools/pool.hpp"
#include "rpmemd/pools/pool_parts.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <vector>

namespace rpmem::target {
namespace {

struct LockedPart {
    PartFile file;
    bool has_header;
};

// The removal of a pool. With FORCE, reports errors and continues.
class Removal {
public:
    Removal(const PoolOptions& options, std::string_view name, const RemoveOptions& remove,
            Log& log)
        : options_(options), name_(name), remove_(remove), log_(log) {}

    Result<> run();

private:
    Result<> remove_parts();
    Result<> lock(const PoolSet& pool_set);
    Result<> leave_out_parts_of_others();
    Result<> forgive(Result<> result);

    const PoolOptions& options_;
    std::string_view name_;
    const RemoveOptions& remove_;
    Log& log_;
    std::vector<LockedPart> parts_;
    Result<> missing_; // error about the first missing part
};

Result<std::vector<std::filesystem::path>> paths_of(const PoolSet& pool_set) {
    RPMEM_ASSIGN(const auto directories, uses_directories(pool_set));
    std::vector<std::filesystem::path> paths;
    if (!directories) {
        for (const auto& part : pool_set.parts)
            paths.push_back(part.path);
        return paths;
    }
    RPMEM_ASSIGN(const auto scanned, PartDirectories::scan(pool_set));
    RPMEM_TRY(scanned.check_not_empty());
    return scanned.files();
}

// Returns the header of PART if it has a valid one.
std::optional<PoolHeader> sound_header(const LockedPart& part) {
    if (!part.has_header)
        return std::nullopt;
    const auto header = part.file.read_header();
    if (!header || is_all_zero(*header) || header->checksum != header_checksum(*header))
        return std::nullopt;
    return *header;
}

// Fails if PART must not be removed with the pool set. NAMED is the pool set in the first valid
// header. If a part has no header, only the owner of the file shows whether it belongs to the pool.
Result<> check_belongs(const LockedPart& part, const std::optional<Uuid>& named) {
    const auto& path = part.file.path().native();
    if (const auto header = sound_header(part); header && header->poolset_uuid != *named)
        return invalid("part {} is left alone: its header names another pool set than the first "
                       "one does; correct the pool set file",
                       path);
    struct stat status {};
    if (part.has_header || part.file.is_device_dax())
        return {};
    if (fstat(part.file.fd(), &status) != 0)
        return fail_errno(ErrorClass::bug, errno, "cannot examine part {}", path);
    if (status.st_uid != geteuid())
        return fail(ErrorClass::caller_fault, EACCES,
                    "part {} is left alone: it has no header, and belongs to user {}, not to {}",
                    path, status.st_uid, geteuid());
    return {};
}

Result<> Removal::forgive(Result<> result) {
    if (result || !remove_.force)
        return result;
    log_.warning("{}", result.error().text);
    if (remove_.note)
        remove_.note(result.error().text);
    return {};
}

// Locks every part before the first is removed. Without FORCE, none is removed if one is in use.
Result<> Removal::lock(const PoolSet& pool_set) {
    RPMEM_ASSIGN(const auto paths, paths_of(pool_set));
    for (std::size_t i = 0; i < paths.size(); ++i) {
        auto part = paths[i].empty() ? Result<PartFile>(PartDirectories::no_such_file(i))
                                     : PartFile::open(paths[i], rules_of(options_));
        if (part) {
            parts_.push_back({std::move(*part), has_header(pool_set.headers, i)});
            continue;
        }
        Failure why(std::move(part).error());
        if (why.value().code == EBUSY)
            why.value().code = EAGAIN;
        if (why.value().code == ENOENT && !remove_.force) {
            if (missing_)
                missing_ = std::move(why);
            continue;
        }
        RPMEM_TRY(forgive(std::move(why)));
    }
    return {};
}

Result<> Removal::leave_out_parts_of_others() {
    std::optional<Uuid> named;
    for (const auto& part : parts_)
        if (const auto header = sound_header(part); header && !named)
            named = header->poolset_uuid;
    std::vector<LockedPart> ours;
    for (auto& part : parts_) {
        auto belongs = check_belongs(part, named);
        if (belongs)
            ours.push_back(std::move(part));
        else
            RPMEM_TRY(forgive(std::move(belongs)));
    }
    parts_ = std::move(ours);
    return {};
}

Result<> Removal::remove_parts() {
    RPMEM_ASSIGN(const auto pool_set, load_pool_set(options_, name_));
    RPMEM_TRY(lock(pool_set));
    RPMEM_TRY(leave_out_parts_of_others());
    Result<> result;
    for (const auto& part : parts_) {
        auto removed = part.file.remove(part.has_header);
        if (!removed && result)
            result = std::move(removed);
    }
    if (result && options_.header_copies >= 0) {
        HeaderCopyFile::remove(options_.header_copies, options_.poolset_dir / name_);
        FirstPageFile::remove(options_.header_copies, options_.poolset_dir / name_);
    }
    return result ? missing_ : result;
}

Result<> Removal::run() {
    // An absolute name, or one that leads out of poolset_dir, is an error even with FORCE.
    auto result = remove_parts();
    if (result || result.error().code != EBADF)
        result = forgive(std::move(result));
    if (result && remove_.pool_set)
        result = forgive(unlink_pool_set(options_, name_));
    return result;
}

} // namespace

Result<> remove_pool(const PoolOptions& options, std::string_view name, const RemoveOptions& remove,
                     Log& log) {
    RPMEM_TRY(in_context(fmt::format("removing pool {}", name),
                         Removal(options, name, remove, log).run()));
    log.info("removed pool {}", name);
    return {};
}

} // namespace rpmem::target
