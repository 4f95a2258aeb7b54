// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/local_data.hpp"

#include "common/base/file_holes.hpp"
#include "librpmem/replica/mappings.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace rpmem::initiator {
namespace {

// The thread that runs this has a descriptor table of its own. ThreadSanitizer does not know that,
// and would report a race with the same number in the table of the process. So the calls that it
// intercepts are made without libc.

struct OwnFile {
    explicit OwnFile(const std::string& path)
        : fd(static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(),
                                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK))) {}
    ~OwnFile() {
        if (fd >= 0)
            ::syscall(SYS_close, fd);
    }
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;

    int fd;
};

struct FileFacts {
    std::uint64_t size = 0;
    bool has_reliable_holes = false;
    bool is_on_disk = false; // not in memory, and not persistent memory
};

// Returns FileFacts() unless FD is the file of MAPPING. On btrfs, statx(2) and /proc/self/maps
// report different devices, so no file matches there.
FileFacts examine(int fd, const Mapping& mapping) {
    struct statx status {};
    struct statfs system {};
    if (::syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0 ||
        ::syscall(SYS_fstatfs, fd, &system) != 0 || !S_ISREG(status.stx_mode) ||
        status.stx_ino != mapping.inode || status.stx_dev_major != mapping.major ||
        status.stx_dev_minor != mapping.minor)
        return {};
    const auto type = static_cast<std::uint32_t>(system.f_type);
    const bool is_known_without_dax = (status.stx_attributes_mask & STATX_ATTR_DAX) != 0 &&
                                      (status.stx_attributes & STATX_ATTR_DAX) == 0;
    return {status.stx_size, knows_mapped_data(type), type != TMPFS_MAGIC && is_known_without_dax};
}

// Calls MARK(first, last) for each range of data in [BEGIN, END) of the file. MARK returns the
// offset at which the search continues. If the file cannot be searched, the rest counts as data.
template <typename Mark>
void for_each_data(int fd, std::uint64_t begin, std::uint64_t end, Mark mark) {
    while (begin < end) {
        const off_t data = ::lseek(fd, static_cast<off_t>(begin), SEEK_DATA);
        if (data < 0 && errno != ENXIO) {
            mark(begin, end);
            return;
        }
        if (data < 0 || static_cast<std::uint64_t>(data) >= end)
            return;
        const off_t hole = ::lseek(fd, data, SEEK_HOLE);
        const auto stop = hole < 0 ? end : std::min(static_cast<std::uint64_t>(hole), end);
        begin = mark(static_cast<std::uint64_t>(data), stop);
    }
}

class Finder {
public:
    explicit Finder(std::span<std::byte> memory)
        : memory_(memory), begin_(reinterpret_cast<std::uintptr_t>(memory.data())) {
        found_.blocks = BlockMap(memory.size());
    }

    void add(const Mapping& mapping) {
        const std::uintptr_t from = std::max(mapping.begin, begin_);
        const std::uintptr_t to = std::min(mapping.end, begin_ + memory_.size());
        mark(covered_, from - begin_);
        covered_ = to - begin_;
        if (mapping.inode == 0 || !mapping.is_shared || !mapping.is_readable)
            return mark(from - begin_, covered_);
        const OwnFile file(mapping.path);
        const FileFacts facts = file.fd < 0 ? FileFacts() : examine(file.fd, mapping);
        if (facts.has_reliable_holes && facts.is_on_disk)
            found_.on_disk.push_back(memory_.subspan(from - begin_, to - from));
        if (!facts.has_reliable_holes)
            return mark(from - begin_, covered_);
        // It may be negative, and wraps then.
        const std::uint64_t shift = mapping.file_offset + (from - mapping.begin) - (from - begin_);
        const std::uint64_t first = from - begin_ + shift;
        const std::uint64_t last = covered_ + shift;
        const std::uint64_t end = std::clamp(facts.size, first, last);
        for_each_data(file.fd, first, end, [&](std::uint64_t data, std::uint64_t stop) {
            mark(data - shift, stop - shift);
            const std::uint64_t blocks = (stop - shift - 1) / wire::digest_block + 1;
            return blocks * wire::digest_block + shift; // the whole block is marked
        });
        // What is mapped beyond the end of the file cannot be read. The comparison reports that.
        mark(end - shift, covered_);
    }

    LocalData finish() {
        mark(covered_, memory_.size());
        return std::move(found_);
    }

private:
    void mark(std::size_t begin, std::size_t end) {
        if (begin < end)
            found_.blocks.mark(begin, end - begin);
    }

    std::span<std::byte> memory_;
    std::uintptr_t begin_;
    LocalData found_;
    std::size_t covered_ = 0; // bytes of the memory whose mappings were added
};

} // namespace

Result<LocalData> find_local_data(std::span<std::byte> memory) {
    RPMEM_ASSIGN(const auto mappings, mappings_of(memory));
    Finder finder(memory);
    const bool has_files = std::ranges::any_of(
        mappings, [](const Mapping& mapping) { return mapping.inode != 0 && mapping.is_shared; });
    if (has_files && ::syscall(SYS_close_range, 0U, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot look for the holes of the files behind the pool's memory");
    for (const Mapping& mapping : mappings)
        finder.add(mapping);
    return finder.finish();
}

void LocalData::drop(std::span<std::byte> memory) const {
    for (const std::span<std::byte> range : on_disk) {
        std::byte* const begin = std::max(memory.data(), range.data());
        std::byte* const end = std::min(memory.data() + memory.size(), range.data() + range.size());
        // It fails for pages that the program has locked, which then stay.
        if (begin < end)
            static_cast<void>(
                ::madvise(begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED));
    }
}

} // namespace rpmem::initiator
