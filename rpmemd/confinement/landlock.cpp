// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/confinement/landlock.hpp"

#include "common/base/deadline.hpp"
#include "common/base/unique_fd.hpp"

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <thread>

namespace rpmem::target {
namespace {

// landlock_ruleset_attr of kernels that are newer than the <linux/landlock.h> of the build. An
// older kernel accepts it if the fields that it does not know are zero.
struct Ruleset {
    std::uint64_t files;
    std::uint64_t ports;
    std::uint64_t scopes;
};

// A right, and the first version that can restrict it.
struct AccessRight {
    unsigned version;
    std::uint64_t bit;
};
constexpr AccessRight of_files[] = {{1, 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1}, // all up to MAKE_SYM
                                    {2, LANDLOCK_ACCESS_FS_REFER},
                                    {3, 1ULL << 14},  // LANDLOCK_ACCESS_FS_TRUNCATE
                                    {5, 1ULL << 15}}; // LANDLOCK_ACCESS_FS_IOCTL_DEV
constexpr AccessRight of_ports[] = {{4, 1ULL << 0},   // LANDLOCK_ACCESS_NET_BIND_TCP
                                    {4, 1ULL << 1}};  // LANDLOCK_ACCESS_NET_CONNECT_TCP
constexpr AccessRight of_scopes[] = {{6, 1ULL << 0},  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
                                     {6, 1ULL << 1}}; // LANDLOCK_SCOPE_SIGNAL

std::uint64_t known(std::span<const AccessRight> rights, unsigned version) {
    std::uint64_t bits = 0;
    for (const AccessRight& right : rights)
        if (right.version <= version)
            bits |= right.bit;
    return bits;
}

// Fails if this thread is not the only one. Waits up to 1 s, because the kernel still lists a
// joined thread for a moment.
Result<> require_one_thread() {
    constexpr nlink_t links_without_threads = 2;
    const Deadline deadline(std::chrono::seconds(1));
    while (true) {
        struct stat status {};
        if (::stat("/proc/self/task", &status) != 0)
            return fail_errno(ErrorClass::resource_limit, errno,
                              "Landlock restricts one thread, and /proc/self/task does not tell "
                              "whether there are others; is /proc mounted?");
        if (status.st_nlink == links_without_threads + 1)
            return {};
        if (deadline.passed())
            return fail(ErrorClass::bug, EBUSY,
                        "the daemon has {} other threads, which Landlock would not restrict",
                        status.st_nlink - links_without_threads - 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

Failure failure(const char* call) {
    return fail_errno(ErrorClass::resource_limit, errno, "Landlock does not work ({})", call);
}

Result<> allow_beneath(const UniqueFd& rules, int directory, std::uint64_t access) {
    const landlock_path_beneath_attr beneath = {.allowed_access = access, .parent_fd = directory};
    if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0)
        return failure("landlock_add_rule");
    return {};
}

} // namespace

unsigned landlock_version() {
    const long version =
        ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? static_cast<unsigned>(version) : 0;
}

Error no_landlock() {
    return {ENOSYS, ErrorClass::resource_limit,
            "this kernel has no Landlock: it needs Linux 5.13 or newer, and \"landlock\" in "
            "/sys/kernel/security/lsm (lsm= on the kernel's command line)"};
}

Result<> restrict_by_landlock(const ReachableFiles& reachable) {
    const unsigned version = landlock_version();
    if (version == 0)
        return Failure(no_landlock());
    RPMEM_TRY(require_one_thread());
    const Ruleset all{known(of_files, version), known(of_ports, version),
                      known(of_scopes, version)};
    const UniqueFd rules(
        static_cast<int>(::syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0)));
    if (!rules)
        return failure("landlock_create_ruleset");
    for (const int directory : reachable.directories)
        RPMEM_TRY(allow_beneath(
            rules, directory,
            LANDLOCK_ACCESS_FS_READ_DIR |
                (reachable.may_remove ? std::uint64_t{LANDLOCK_ACCESS_FS_REMOVE_FILE} : 0)));
    if (reachable.replaced >= 0)
        RPMEM_TRY(allow_beneath(rules, reachable.replaced,
                                LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                    LANDLOCK_ACCESS_FS_REMOVE_FILE));
    if (::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0)
        return failure("landlock_restrict_self");
    return {};
}

} // namespace rpmem::target
