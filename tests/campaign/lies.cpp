// SPDX-License-Identifier: BSD-3-Clause
// Errors that the campaign must find, for LD_PRELOAD in the daemon. RPMEM_CAMPAIGN_LIE is
//   sync     one msync(2) in 50 returns 0 and does nothing
//   header   fsync(2) and fdatasync(2) of a part do nothing
//   record   fsync(2) does nothing after fsetxattr(2) of the same file, nor do fsync(2) and
//   fdatasync(2) below
//            state-dir
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace {

constexpr unsigned one_in = 50;

bool lies(const char* kind) {
    const char* const wanted = std::getenv("RPMEM_CAMPAIGN_LIE");
    return wanted && std::strcmp(wanted, kind) == 0;
}

bool is_below(int fd, const char* part_of_path) {
    char path[4096]{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    return ::readlink(link.c_str(), path, sizeof(path) - 1) > 0 &&
           std::strstr(path, part_of_path) != nullptr;
}

bool lies_about(int fd) {
    return (lies("header") && is_below(fd, "/part")) || (lies("record") && is_below(fd, "/state/"));
}

thread_local int recorded = -1; // the file of the last fsetxattr(2)

template <typename Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" [[gnu::visibility("default")]] int msync(void* address, std::size_t size, int flags) {
    static std::atomic<unsigned> calls = 0;
    static const auto real = next<int (*)(void*, std::size_t, int)>("msync");
    if (lies("sync") && ++calls % one_in == 0)
        return 0;
    return real(address, size, flags);
}

extern "C" [[gnu::visibility("default")]] int fsetxattr(int fd, const char* name, const void* value,
                                                        std::size_t size, int flags) {
    static const auto real =
        next<int (*)(int, const char*, const void*, std::size_t, int)>("fsetxattr");
    recorded = fd;
    return real(fd, name, value, size, flags);
}

extern "C" [[gnu::visibility("default")]] int fsync(int fd) {
    static const auto real = next<int (*)(int)>("fsync");
    const bool is_of_record = lies("record") && std::exchange(recorded, -1) == fd;
    return is_of_record || lies_about(fd) ? 0 : real(fd);
}

extern "C" [[gnu::visibility("default")]] int fdatasync(int fd) {
    static const auto real = next<int (*)(int)>("fdatasync");
    return lies_about(fd) ? 0 : real(fd);
}
