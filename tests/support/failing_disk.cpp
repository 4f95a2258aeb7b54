// SPDX-License-Identifier: BSD-3-Clause
// Simulates a disk that loses one write of one part, by LD_PRELOAD into the real daemon. It behaves
// like Linux: the page counts as written afterwards, and only one sync of the file gets the error.
// This may be any sync that overlaps the write in time. All others succeed.
//   FAILING_DISK_PART=TEXT      a part of the path of the file
//   FAILING_DISK_OFFSET=N       any byte of the page that is lost
//   FAILING_DISK_NUMBER=N       the sync of this page whose write is lost, counted from 1
//   FAILING_DISK_SEED=N         selects the sync that gets the error
//   FAILING_DISK_STALL=N        that sync takes N milliseconds, and nothing is lost
//   FAILING_DISK_ENDS=1         the daemon ends in that sync instead
//   FAILING_DISK_WHOLE=1        fsync(2) and fdatasync(2) write all pages; default: fdatasync(2)
//                               writes only the header page, and msync(2) the others
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t number_of(const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

struct Mapped {
    std::uintptr_t begin;
    std::size_t size;
    std::uint64_t offset;
};

class FailingDisk {
public:
    static FailingDisk& instance() {
        static FailingDisk& disk = *new FailingDisk;
        return disk;
    }

    void note_mapped(int fd, void* address, std::size_t size, std::uint64_t offset) {
        if (!is_part(fd))
            return;
        const std::lock_guard lock(mutex_);
        mapped_.push_back({reinterpret_cast<std::uintptr_t>(address), size, offset});
    }

    [[nodiscard]] bool is_part(int fd) const {
        std::array<char, 4096> path{};
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        // A confined daemon has no readlink(2).
        const ssize_t length = ::readlinkat(AT_FDCWD, link.c_str(), path.data(), path.size() - 1);
        return !part_.empty() && length > 0 &&
               std::string(path.data()).find(part_) != std::string::npos;
    }

    // Sets OFFSET to the place of ADDRESS in the part. Returns false if it is elsewhere.
    bool find(const void* address, std::uint64_t& offset) {
        const auto place = reinterpret_cast<std::uintptr_t>(address);
        const std::lock_guard lock(mutex_);
        // The last mapping counts, because an earlier one may have been unmapped.
        for (auto each = mapped_.rbegin(); each != mapped_.rend(); ++each)
            if (place >= each->begin && place - each->begin < each->size) {
                offset = each->offset + (place - each->begin);
                return true;
            }
        return false;
    }

    // Syncs the pages of [OFFSET, OFFSET + SIZE). Returns true if this sync gets the error.
    bool sync(std::uint64_t offset, std::uint64_t size) {
        const bool covers = offset / page <= bad_ && bad_ <= (offset + size - 1) / page;
        bool loses = false;
        {
            const std::lock_guard lock(mutex_);
            loses = covers && ++syncs_ == number_;
            unreported_ = unreported_ || (loses && stall_.count() == 0);
        }
        if (loses && ends_)
            ::_exit(1);
        if (loses)
            std::this_thread::sleep_for(stall_);
        wait();
        if (loses) // gives other syncs more time to get the error first
            wait();
        bool reports = false;
        {
            const std::lock_guard lock(mutex_);
            reports = unreported_ && (loses || random_() % 2 == 0);
            unreported_ = unreported_ && !reports;
        }
        wait(); // the sync has its result, but has not returned
        return reports;
    }

private:
    FailingDisk()
        : bad_(number_of("FAILING_DISK_OFFSET") / page), number_(number_of("FAILING_DISK_NUMBER")),
          stall_(number_of("FAILING_DISK_STALL")), ends_(number_of("FAILING_DISK_ENDS") == 1),
          random_(static_cast<std::mt19937::result_type>(number_of("FAILING_DISK_SEED"))) {
        const char* const part = std::getenv("FAILING_DISK_PART");
        part_ = part ? part : "";
    }

    void wait() {
        std::chrono::microseconds time{0};
        {
            const std::lock_guard lock(mutex_);
            time = std::chrono::microseconds(random_() % 1500);
        }
        std::this_thread::sleep_for(time);
    }

    std::string part_;
    std::uint64_t bad_;
    std::uint64_t number_;
    std::chrono::milliseconds stall_;
    bool ends_;
    std::mutex mutex_;
    std::mt19937 random_;
    std::vector<Mapped> mapped_;
    std::uint64_t syncs_ = 0;
    bool unreported_ = false;
};

bool is_whole() {
    static const bool whole = number_of("FAILING_DISK_WHOLE") == 1;
    return whole;
}

int fail_with_eio() {
    errno = EIO;
    return -1;
}

} // namespace

#define STANDS_FOR_ANOTHER extern "C" __attribute__((visibility("default")))

STANDS_FOR_ANOTHER void* mmap(void* address, size_t size, int protection, int flags, int fd,
                              off_t offset) noexcept {
    auto* const mapped =
        reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, protection, flags, fd, offset));
    if (mapped != MAP_FAILED && fd >= 0)
        FailingDisk::instance().note_mapped(fd, mapped, size, static_cast<std::uint64_t>(offset));
    return mapped;
}

STANDS_FOR_ANOTHER int msync(void* address, size_t size, int flags) {
    std::uint64_t offset = 0;
    if (FailingDisk::instance().find(address, offset) && FailingDisk::instance().sync(offset, size))
        return fail_with_eio();
    return static_cast<int>(::syscall(SYS_msync, address, size, flags));
}

// The daemon calls fsync(2) for new files after it has synced their header.
STANDS_FOR_ANOTHER int fsync(int fd) {
    if (is_whole() && FailingDisk::instance().is_part(fd) &&
        FailingDisk::instance().sync(0, UINT64_MAX))
        return fail_with_eio();
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

STANDS_FOR_ANOTHER int fdatasync(int fd) {
    if (FailingDisk::instance().is_part(fd) &&
        FailingDisk::instance().sync(0, is_whole() ? UINT64_MAX : page))
        return fail_with_eio();
    return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
