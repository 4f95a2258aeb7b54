// SPDX-License-Identifier: BSD-3-Clause
#include "common/rdma/memory_lock.hpp"

#include <linux/capability.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string_view>

namespace rpmem::rdma {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = kib * kib;

// An estimate for the queues and message buffers of the lanes, which are locked as well. Their size
// depends on the device.
constexpr std::uint64_t room_for_lanes = 64 * mib;

std::uint64_t bytes_of(rlim_t limit) {
    return limit == RLIM_INFINITY ? LockLimit::unlimited : limit;
}

std::uint64_t number_in(std::string_view line, int base) {
    const auto first = line.find_first_not_of(" \t", line.find(':') + 1);
    std::uint64_t number = 0;
    if (first != std::string_view::npos)
        std::from_chars(line.data() + first, line.data() + line.size(), number, base);
    return number;
}

// The kernel checks CAP_IPC_LOCK in the initial user namespace. Root in a container with its own
// user namespace does not have it there.
bool in_first_user_namespace() {
    std::ifstream map("/proc/self/uid_map");
    std::uint64_t inside = 1;
    std::uint64_t outside = 1;
    std::uint64_t count = 0;
    map >> inside >> outside >> count;
    constexpr std::uint64_t everybody = 4294967295;
    return inside == 0 && outside == 0 && count == everybody;
}

// Returns the size of all pages that the range touches.
std::uint64_t pages_of(std::uint64_t address, std::uint64_t size, std::uint64_t page) {
    const std::uint64_t begin = address / page * page;
    const std::uint64_t end = address + size;
    return end / page * page + (end % page != 0 ? page : 0) - begin;
}

std::string in_words(std::uint64_t bytes) {
    return bytes == LockLimit::unlimited ? "unlimited" : fmt::format("{} bytes", bytes);
}

} // namespace

LockLimit read_lock_limit() {
    LockLimit limit;
    limit.page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    rlimit set{};
    if (::getrlimit(RLIMIT_MEMLOCK, &set) == 0) {
        limit.soft = bytes_of(set.rlim_cur);
        limit.hard = bytes_of(set.rlim_max);
    }
    // Each thread has its own capabilities.
    std::ifstream status("/proc/thread-self/status");
    if (!status) { // without /proc nothing can be predicted
        limit.exempt = true;
        return limit;
    }
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmPin:"))
            limit.used = number_in(line, 10) * kib;
        else if (line.starts_with("CapEff:"))
            limit.exempt = (number_in(line, 16) >> CAP_IPC_LOCK & 1) != 0;
    }
    limit.exempt = limit.exempt && in_first_user_namespace();
    return limit;
}

LockVerdict judge_lock(const LockLimit& limit, std::uint64_t address, std::uint64_t size) {
    if (limit.exempt)
        return LockVerdict::fits;
    const std::uint64_t needed = pages_of(address, size, limit.page);
    const auto fits_in = [&](std::uint64_t bytes) {
        if (bytes == LockLimit::unlimited)
            return true;
        const std::uint64_t whole = bytes / limit.page * limit.page;
        return limit.used <= whole && needed <= whole - limit.used;
    };
    if (fits_in(limit.soft))
        return LockVerdict::fits;
    return fits_in(limit.hard) ? LockVerdict::fits_if_raised : LockVerdict::too_much;
}

std::string explain_lock_limit(const LockLimit& limit, std::uint64_t address, std::uint64_t size,
                               const std::string& user) {
    const std::uint64_t needed = limit.used + pages_of(address, size, limit.page);
    const std::uint64_t enough = (needed + room_for_lanes + mib - 1) / mib;
    return fmt::format(
        "RDMA needs {} bytes of locked memory, {} of them in use already, and the limit "
        "(RLIMIT_MEMLOCK) of user {} is {} (soft) and {} (hard); to allow more, write the line "
        "'{} - memlock {}' into /etc/security/limits.conf (see limits.conf(5)) and log in again; "
        "for a service of systemd (sshd is one) write LimitMEMLOCK={}M into its unit",
        needed, limit.used, user, in_words(limit.soft), in_words(limit.hard), user,
        enough * mib / kib, enough);
}

std::string name_of_user() {
    const uid_t uid = ::geteuid();
    std::array<char, 4096> buffer;
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found)
        return found->pw_name;
    return std::to_string(uid);
}

Result<LockVerdict> make_room_to_lock(const void* address, std::uint64_t size) {
    const LockLimit limit = read_lock_limit();
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    const LockVerdict verdict = judge_lock(limit, start, size);
    if (verdict == LockVerdict::fits)
        return verdict;
    const rlimit raised{limit.hard, limit.hard};
    if (verdict == LockVerdict::fits_if_raised && ::setrlimit(RLIMIT_MEMLOCK, &raised) == 0)
        return verdict;
    return fail(ErrorClass::resource_limit, ENOMEM, "{}",
                explain_lock_limit(limit, start, size, name_of_user()));
}

} // namespace rpmem::rdma
