// SPDX-License-Identifier: BSD-3-Clause
// The functions that replace those of libpmem and the C library, see recorder.hpp. Each records its
// call, and then calls the original function or fails.
#include "tests/support/recorder/recorder.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <libpmem.h>
#include <libpmem2.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

namespace rpmem::test {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t page = 4096;

// Calls that a recorded call or the action of the test makes are not recorded.
thread_local bool inside = false;

// The ranges that this thread has flushed and not drained.
thread_local std::vector<Recorder::Copy> flushed;

class Inside {
public:
    Inside() { inside = true; }
    ~Inside() { inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

// Returns the original function.
template <typename Function>
Function* next(const char* name) {
    auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    if (!found)
        std::abort();
    return found;
}

std::string path_of(int fd) {
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    // A confined daemon has no readlink(2).
    const ssize_t length = ::readlinkat(AT_FDCWD, link.c_str(), path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "-";
}

void note_flushed(const void* address, std::size_t size, std::size_t unit) {
    auto copies = Recorder::instance().copies_of(address, size, unit);
    flushed.insert(flushed.end(), std::make_move_iterator(copies.begin()),
                   std::make_move_iterator(copies.end()));
}

void put_flushed() { Recorder::instance().put(std::exchange(flushed, {})); }

// Records a call that fails with -1 and errno, or succeeds with another value.
template <typename Value, typename Real>
Value record(Event event, bool waits, Real real) {
    const Inside guard;
    Recorder& recorder = Recorder::instance();
    const int planned = recorder.begin(event, waits);
    Value value = -1;
    if (planned == 0)
        value = real();
    const int code = planned != 0 ? planned : value == -1 ? errno : 0;
    recorder.end(std::move(event), code);
    if (code != 0)
        errno = code;
    return value;
}

// Records a call that cannot fail.
template <typename Real>
void record_always(Event event, bool waits, Real real) {
    const Inside guard;
    static_cast<void>(Recorder::instance().begin(event, waits));
    real();
    Recorder::instance().end(std::move(event), 0);
}

template <typename Real>
int record_sync(const char* call, const void* address, std::size_t size, Real real) {
    Recorder& recorder = Recorder::instance();
    // Bytes that are written after this need not be durable afterwards.
    const auto copies = recorder.copies_of(address, size, page);
    return record<int>(recorder.event_of(call, address, size), true, [&] {
        const int status = real();
        if (status == 0)
            recorder.put(copies);
        return status;
    });
}

} // namespace
} // namespace rpmem::test

using namespace rpmem::test;

#define STANDS_FOR_ANOTHER extern "C" __attribute__((visibility("default")))

STANDS_FOR_ANOTHER void pmem_flush(const void* address, size_t size) {
    static auto* const real = next<decltype(pmem_flush)>("pmem_flush");
    if (inside)
        return real(address, size);
    record_always(Recorder::instance().event_of("pmem_flush", address, size), false, [&] {
        real(address, size);
        note_flushed(address, size, cache_line);
    });
}

STANDS_FOR_ANOTHER void pmem_drain() {
    static auto* const real = next<decltype(pmem_drain)>("pmem_drain");
    if (inside)
        return real();
    record_always({"pmem_drain", "-"}, true, [&] {
        real();
        put_flushed();
    });
}

STANDS_FOR_ANOTHER void pmem_persist(const void* address, size_t size) {
    static auto* const real = next<decltype(pmem_persist)>("pmem_persist");
    if (inside)
        return real(address, size);
    record_always(Recorder::instance().event_of("pmem_persist", address, size), true, [&] {
        real(address, size);
        note_flushed(address, size, cache_line);
        put_flushed();
    });
}

STANDS_FOR_ANOTHER void* pmem_memcpy(void* destination, const void* source, size_t size,
                                     unsigned flags) {
    static auto* const real = next<decltype(pmem_memcpy)>("pmem_memcpy");
    if (inside)
        return real(destination, source, size, flags);
    record_always(Recorder::instance().event_of("pmem_memcpy", destination, size), false, [&] {
        real(destination, source, size, flags);
        if ((flags & PMEM_F_MEM_NOFLUSH) == 0)
            note_flushed(destination, size, 1);
        if ((flags & (PMEM_F_MEM_NOFLUSH | PMEM_F_MEM_NODRAIN)) == 0)
            put_flushed();
    });
    return destination;
}

STANDS_FOR_ANOTHER int pmem_msync(const void* address, size_t size) {
    static auto* const real = next<decltype(pmem_msync)>("pmem_msync");
    if (inside)
        return real(address, size);
    return record_sync("pmem_msync", address, size, [&] { return real(address, size); });
}

// Fails with a negative errno value.
STANDS_FOR_ANOTHER int pmem2_deep_flush(pmem2_map* map, void* address, size_t size) {
    static auto* const real = next<decltype(pmem2_deep_flush)>("pmem2_deep_flush");
    if (inside)
        return real(map, address, size);
    const Inside guard;
    Recorder& recorder = Recorder::instance();
    Event event = recorder.event_of("pmem2_deep_flush", address, size);
    const int planned = recorder.begin(event, true);
    const int status = planned != 0 ? -planned : real(map, address, size);
    recorder.end(std::move(event), -status);
    return status;
}

STANDS_FOR_ANOTHER int msync(void* address, size_t size, int flags) {
    static auto* const real = next<decltype(msync)>("msync");
    if (inside)
        return real(address, size, flags);
    return record_sync("msync", address, size, [&] { return real(address, size, flags); });
}

STANDS_FOR_ANOTHER int fsync(int fd) {
    static auto* const real = next<decltype(fsync)>("fsync");
    if (inside)
        return real(fd);
    return record<int>({"fsync", path_of(fd)}, true, [&] { return real(fd); });
}

STANDS_FOR_ANOTHER int fdatasync(int fd) {
    static auto* const real = next<decltype(fdatasync)>("fdatasync");
    if (inside)
        return real(fd);
    return record<int>({"fdatasync", path_of(fd)}, true, [&] { return real(fd); });
}

// Fails with a positive errno value, and does not set errno.
STANDS_FOR_ANOTHER int posix_fadvise(int fd, off_t offset, off_t size, int advice) noexcept {
    static auto* const real = next<int(int, off_t, off_t, int)>("posix_fadvise");
    if (inside)
        return real(fd, offset, size, advice);
    const Inside guard;
    Recorder& recorder = Recorder::instance();
    Event event{"posix_fadvise", path_of(fd), static_cast<std::uint64_t>(offset),
                static_cast<std::size_t>(size)};
    const int planned = recorder.begin(event, false);
    const int code = planned != 0 ? planned : real(fd, offset, size, advice);
    recorder.end(std::move(event), code);
    return code;
}

STANDS_FOR_ANOTHER int flock(int fd, int operation) noexcept {
    static auto* const real = next<int(int, int)>("flock");
    if (inside)
        return real(fd, operation);
    return record<int>({"flock", path_of(fd)}, false, [&] { return real(fd, operation); });
}

STANDS_FOR_ANOTHER ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    static auto* const real = next<decltype(pwrite)>("pwrite");
    if (inside)
        return real(fd, bytes, size, offset);
    return record<ssize_t>({"pwrite", path_of(fd), static_cast<std::uint64_t>(offset), size}, false,
                           [&] { return real(fd, bytes, size, offset); });
}

STANDS_FOR_ANOTHER int fsetxattr(int fd, const char* name, const void* value, size_t size,
                                 int flags) noexcept {
    static auto* const real = next<int(int, const char*, const void*, size_t, int)>("fsetxattr");
    if (inside)
        return real(fd, name, value, size, flags);
    return record<int>({"fsetxattr", path_of(fd), 0, size}, false,
                       [&] { return real(fd, name, value, size, flags); });
}
