// SPDX-License-Identifier: BSD-3-Clause
// Plants errors that the campaign must find, by LD_PRELOAD into the real daemon. The values of
// RPMEM_CAMPAIGN_LIE are
//   sync     one msync(2) in 50 returns 0 and does nothing
//   header   fsync(2) and fdatasync(2) of a part do nothing
//   record   fsetxattr(2) writes to files below RPMEM_CAMPAIGN_CACHE, a cache that a power failure
//            empties, and syncs of files below state-dir do nothing
//
// Without the fsync(2) of the record alone, nothing would be lost: opening a pool syncs its parts,
// and any later sync of the same file system also makes the attribute durable.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

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

// Returns the path of the file in the cache for the attribute of FD.
std::string cached(int fd) {
    struct stat status {};
    const char* const directory = std::getenv("RPMEM_CAMPAIGN_CACHE");
    if (!lies("record") || !directory || ::fstat(fd, &status) != 0)
        return {};
    return std::string(directory) + "/" + std::to_string(status.st_ino);
}

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
    const std::string path = cached(fd);
    if (path.empty())
        return real(fd, name, value, size, flags);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool is_kept = file >= 0 && ::write(file, value, size) == static_cast<ssize_t>(size);
    ::close(file);
    return is_kept ? 0 : -1;
}

extern "C" [[gnu::visibility("default")]] ssize_t fgetxattr(int fd, const char* name, void* value,
                                                            std::size_t size) {
    static const auto real = next<ssize_t (*)(int, const char*, void*, std::size_t)>("fgetxattr");
    const int file = ::open(cached(fd).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return real(fd, name, value, size);
    const ssize_t got = ::read(file, value, size);
    ::close(file);
    return got;
}

extern "C" [[gnu::visibility("default")]] int fsync(int fd) {
    static const auto real = next<int (*)(int)>("fsync");
    return lies_about(fd) ? 0 : real(fd);
}

extern "C" [[gnu::visibility("default")]] int fdatasync(int fd) {
    static const auto real = next<int (*)(int)>("fdatasync");
    return lies_about(fd) ? 0 : real(fd);
}
