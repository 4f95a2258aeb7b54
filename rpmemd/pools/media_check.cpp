// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/media_check.hpp"

#include "common/base/deep_flush.hpp"
#include "common/base/medium_kind.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <set>

namespace rpmem::target {
namespace {

Result<> check_volatile(const PoolOptions& options, const PartFile& part,
                        std::set<std::string>& logged, const Log& log) {
    const MediumName medium = part.is_device_dax() ? MediumName{} : medium_of(part.fd());
    if (medium.kind == MediumKind::lasting)
        return {};
    if (options.refuse_volatile)
        return invalid(
            "part {} is on {}: {}; the configuration refuses that (volatile-medium = refuse)",
            part.path().native(), medium.file_system, describe(medium.kind));
    if (logged.insert(medium.file_system).second)
        log.warning("part {} is on {}: {}", part.path().native(), medium.file_system,
                    describe(medium.kind));
    return {};
}

Result<> check_deep_flush(const PoolOptions& options, const PartFile& part,
                          std::set<std::string>& logged, const Log& log) {
    struct stat status {};
    if (fstat(part.fd(), &status) != 0)
        return fail_errno(ErrorClass::bug, errno, "cannot examine part {}", part.path().native());
    const bool is_device = S_ISCHR(status.st_mode);
    const auto file =
        find_deep_flush(is_device ? status.st_rdev : status.st_dev, is_device, options.system_root);
    if (!file || may_write(*file))
        return {};
    const std::string text =
        fmt::format("part {}: user {} may not request deep flushes of the persistent memory; to "
                    "allow it, run as root: chown {} {}",
                    part.path().native(), geteuid(), geteuid(), file->native());
    if (options.require_deep_flush)
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} (the configuration says deep-flush = require)", text);
    if (logged.insert(file->native()).second)
        log.warning("{}. Until then rpmem_deep_persist() does no more than rpmem_persist()", text);
    return {};
}

} // namespace

Result<> check_media(const PoolOptions& options, const std::vector<PartFile>& parts,
                     const std::vector<bool>& on_pmem, const Log& log) {
    std::set<std::string> logged;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        RPMEM_TRY(check_volatile(options, parts[i], logged, log));
        if (on_pmem[i])
            RPMEM_TRY(check_deep_flush(options, parts[i], logged, log));
    }
    return {};
}

} // namespace rpmem::target
