// Keeps libfabric from reading the kernel's symbols while a client waits.
//
// As it starts, libfabric 1.17 reads /proc/kallsyms twice, 1 KiB at a time, to learn whether the
// kernel lets RDMA devices reach the memory of graphics processors: 0.1 s of each session,
// whichever provider serves it. A pool is never in such memory. There is no setting for it, and a
// kernel that does not show its symbols is what libfabric is prepared for. So this program's
// fopen(3), which the dynamic linker finds before the C library's, does not find that one file.
#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

extern "C" __attribute__((visibility("default"))) FILE* fopen(const char* __restrict path,
                                                              const char* __restrict mode) {
    static const auto next = reinterpret_cast<decltype(&::fopen)>(::dlsym(RTLD_NEXT, "fopen"));
    if (std::strcmp(path, "/proc/kallsyms") == 0 || !next) {
        errno = ENOENT;
        return nullptr;
    }
    return next(path, mode);
}
