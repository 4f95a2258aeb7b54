#include "pools/part_directory.hpp"
#include "pools/part_file.hpp"
#include "pools/part_layout.hpp"
#include "pools/pool_set_path.hpp"
#include "pools/store.hpp"

#include <string>
#include <vector>

namespace rpmem::target {
namespace {

struct LockedPart {
    PartFile file;
    bool has_header;
};

Result<std::vector<std::filesystem::path>> paths_of(const PoolSet& pool_set) {
    const auto directories = uses_directories(pool_set);
    if (!directories)
        return tl::unexpected(directories.error());
    std::vector<std::filesystem::path> paths;
    if (!*directories) {
        for (const auto& part : pool_set.parts)
            paths.push_back(part.path);
        return paths;
    }
    const auto scanned = PartDirectories::scan(pool_set);
    if (!scanned)
        return tl::unexpected(scanned.error());
    if (scanned->files().empty())
        return fail(ErrorClass::caller_fault, ENOENT,
                    "the directories of the pool set have no part files");
    return scanned->files();
}

// Locks every part before the first is removed: without FORCE it is all or none.
Result<std::vector<LockedPart>> lock_parts(const PoolSet& pool_set, bool force, Log& log) {
    const auto paths = paths_of(pool_set);
    if (!paths)
        return tl::unexpected(paths.error());
    std::vector<LockedPart> locked;
    for (std::size_t i = 0; i < paths->size(); ++i) {
        auto part = PartFile::open((*paths)[i]);
        if (part) {
            locked.push_back({std::move(*part), has_header(pool_set.headers, i)});
            continue;
        }
        if (part.error().code == EBUSY)
            part.error().code = EAGAIN;
        if (!force)
            return propagate(std::move(part));
        log.warning("left alone: {}", part.error().text);
    }
    return locked;
}

Result<> remove_parts(const StoreOptions& options, std::string_view name, bool force, Log& log) {
    const auto pool_set = load_pool_set(options, name);
    if (!pool_set)
        return tl::unexpected(pool_set.error());
    const auto parts = lock_parts(*pool_set, force, log);
    if (!parts)
        return tl::unexpected(parts.error());
    Result<> result;
    for (const auto& part : *parts) {
        auto removed = part.file.remove(part.has_header);
        if (!removed && result)
            result = std::move(removed);
    }
    return result;
}

// With FORCE, what stands in the way of removing is told and passed by; a name that leads out of
// poolset_dir is an error always.
Result<> pass_by(Result<> result, bool force, Log& log) {
    if (result || !force || result.error().code == EBADF)
        return result;
    log.warning("{}", result.error().text);
    return {};
}

} // namespace

Result<> remove_pool(const StoreOptions& options, std::string_view name,
                     const RemoveOptions& remove, Log& log) {
    auto result = pass_by(remove_parts(options, name, remove.force, log), remove.force, log);
    if (result && remove.pool_set)
        result = pass_by(unlink_pool_set(options, name), remove.force, log);
    if (!result)
        return in_context(fmt::format("removing pool {}", name), std::move(result).error());
    log.info("removed pool {}", name);
    return {};
}

} // namespace rpmem::target
