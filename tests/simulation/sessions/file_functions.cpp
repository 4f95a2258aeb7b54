// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of the C library for files, and those of libpmem that make a pool durable,
// see system_functions.cpp. Processes of a simulation see only the files of its FileSystem.
#include "tests/simulation/interposed.hpp"
#include "tests/simulation/sessions/machine.hpp"
#include "tests/simulation/sessions/planted.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <set>

using rpmem::simulation::first_descriptor;
using rpmem::simulation::Machine;
using rpmem::simulation::Node;
using rpmem::simulation::OpenFile;

namespace {

template <typename T>
T to_errno(T result) {
    if (result >= 0)
        return result;
    errno = static_cast<int>(-result);
    return -1;
}

Machine* simulated(int fd) { return fd >= first_descriptor ? Machine::current() : nullptr; }

OpenFile* file_of(Machine& machine, int fd) { return machine.system().file(fd).get(); }

// Returns the node where PATH begins, or null if DIRECTORY is not open.
std::shared_ptr<Node> start_of(Machine& machine, int directory) {
    if (directory < first_descriptor)
        return machine.system().files().root();
    const OpenFile* const open = file_of(machine, directory);
    return open ? open->node : nullptr;
}

int open_at(Machine& machine, int directory, std::string path, int flags, mode_t mode) {
    if (machine.world().is_in_vacuum())
        return -EIO;
    auto& files = machine.system().files();
    const auto from = start_of(machine, directory);
    auto node = files.find(from, path);
    if (node && node->is_refused)
        return -EACCES;
    if (node && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0)
        return -EEXIST;
    if (!node && (flags & O_CREAT) == 0)
        return -ENOENT;
    if (!node)
        node = files.make_file(*from, path, mode); // PATH is a name without directories
    if ((flags & O_CREAT) != 0)
        node->changed = machine.seconds();
    std::string full = directory >= first_descriptor
                           ? file_of(machine, directory)->path + "/" + path
                           : std::move(path);
    return machine.system().open_file(std::make_shared<OpenFile>(
        OpenFile{.owner = machine.world().process(),
                 .node = std::move(node),
                 .path = std::move(full),
                 .may_write = (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0}));
}

int fill(const Node& node, struct stat* status) {
    *status = {};
    status->st_dev = 1;
    status->st_ino = node.inode;
    status->st_mode = node.mode;
    status->st_nlink = 1;
    status->st_mtim.tv_sec = node.changed;
    status->st_uid = ::geteuid();
    status->st_size =
        static_cast<off_t>(node.memory.empty() ? node.own_bytes.size() : node.memory.size());
    return 0;
}

// FILE is null if the kernel has closed the descriptors of a dead process.
int fill(const OpenFile* file, struct stat* status) {
    return file ? fill(*file->node, status) : to_errno(-EBADF);
}

int sync_all(Machine& machine, int fd) {
    const auto file = machine.system().file(fd);
    if (!file)
        return EBADF;
    if (file->node->is_directory()) {
        file->node->durable_names = file->node->names;
        return 0;
    }
    return machine.disk().sync(file->node, 0, file->node->durable.size());
}

int lock(OpenFile& file, int operation) {
    file.unlock();
    Node& node = *file.node;
    if (rpmem::simulation::sessions::locks_nothing()) {
        node.exclusive = &file;
        return 0;
    }
    if (node.exclusive || ((operation & LOCK_EX) != 0 && !node.shared.empty()))
        return -EWOULDBLOCK;
    if ((operation & LOCK_EX) != 0)
        node.exclusive = &file;
    else
        node.shared.insert(&file);
    return 0;
}

// The simulated DIR.
struct Listing {
    int fd;
    std::vector<std::string> names;
    std::size_t next = 0;
    dirent entry{};
};

// Pages for secrets are mapped often. Mapping each with the kernel takes as long as the simulation
// itself, so they are reused.
struct SmallPages {
    std::set<void*> all;
    std::vector<void*> spare;
};
SmallPages& small_pages() {
    static SmallPages pages;
    return pages;
}
constexpr std::size_t page = 4096;

} // namespace

STANDS_FOR(int, openat, int directory, const char* path, int flags, mode_t mode) {
    Machine* const machine = Machine::current();
    return machine ? to_errno(open_at(*machine, directory, path, flags, mode))
                   : __real_openat(directory, path, flags, mode);
}
STANDS_FOR(int, __openat_2, int directory, const char* path, int flags) {
    return __wrap_openat(directory, path, flags, 0);
}
STANDS_FOR(int, open, const char* path, int flags, mode_t mode) {
    Machine* const machine = Machine::current();
    return machine ? to_errno(open_at(*machine, AT_FDCWD, path, flags, mode))
                   : __real_open(path, flags, mode);
}
STANDS_FOR(int, __open_2, const char* path, int flags) { return __wrap_open(path, flags, 0); }

STANDS_FOR(int, fstat, int fd, struct stat* status) {
    Machine* const machine = simulated(fd);
    return machine ? fill(file_of(*machine, fd), status) : __real_fstat(fd, status);
}
STANDS_FOR(int, fstatat, int directory, const char* path, struct stat* status, int flags) {
    Machine* const machine = simulated(directory);
    if (!machine)
        return __real_fstatat(directory, path, status, flags);
    const auto from = start_of(*machine, directory);
    const auto node = from ? machine->system().files().find(from, path) : nullptr;
    return node ? fill(*node, status) : to_errno(-ENOENT);
}
STANDS_FOR(int, fstatfs, int fd, struct statfs* status) {
    if (!simulated(fd))
        return __real_fstatfs(fd, status);
    *status = {};
    return 0;
}

STANDS_FOR(int, fcntl, int fd, int command, long argument) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fcntl(fd, command, argument);
    if (command == F_DUPFD_CLOEXEC && !machine->system().file(fd))
        return to_errno(-EBADF);
    return command == F_DUPFD_CLOEXEC ? machine->system().open_file(machine->system().file(fd)) : 0;
}

STANDS_FOR(ssize_t, pread, int fd, void* place, std::size_t length, off_t offset) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_pread(fd, place, length, offset);
    const OpenFile* const file = file_of(*machine, fd);
    if (!file)
        return to_errno(-EBADF);
    const auto bytes = file->node->bytes();
    const std::size_t begin = std::min(static_cast<std::size_t>(offset), bytes.size());
    const auto read = bytes.subspan(begin, std::min(length, bytes.size() - begin));
    std::ranges::copy(read, static_cast<std::byte*>(place));
    return static_cast<ssize_t>(read.size());
}
STANDS_FOR(ssize_t, __pread_chk, int fd, void* place, std::size_t length, off_t offset,
           std::size_t) {
    return __wrap_pread(fd, place, length, offset);
}
STANDS_FOR(ssize_t, pwrite, int fd, const void* data, std::size_t length, off_t offset) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_pwrite(fd, data, length, offset);
    const OpenFile* const file = file_of(*machine, fd);
    if (machine->world().is_in_vacuum() || !file || !file->may_write)
        return to_errno(-EBADF);
    if (!file->node->memory.empty())
        machine->writes(*file->node);
    const auto bytes = file->node->bytes();
    const auto begin = static_cast<std::size_t>(offset);
    if (begin + length > bytes.size())
        return to_errno(-ENOSPC); // the daemon allocates before it writes
    std::memcpy(bytes.data() + begin, data, length);
    file->node->changed = machine->seconds();
    return static_cast<ssize_t>(length);
}
STANDS_FOR(int, posix_fallocate, int fd, off_t offset, off_t length) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_posix_fallocate(fd, offset, length);
    if (machine->world().is_in_vacuum())
        return EIO;
    if (machine->disk().is_full())
        return ENOSPC;
    file_of(*machine, fd)->node->resize(static_cast<std::size_t>(offset + length));
    return 0;
}
STANDS_FOR(int, posix_fadvise, int fd, off_t offset, off_t length, int advice) {
    return simulated(fd) ? 0 : __real_posix_fadvise(fd, offset, length, advice);
}
STANDS_FOR(int, fsync, int fd) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fsync(fd);
    const auto file = machine->system().file(fd);
    const auto attributes = file ? file->node->attributes : std::map<std::string, std::string>();
    const int code = sync_all(*machine, fd);
    if (code == 0 &&
        !rpmem::simulation::sessions::leaves_attributes()) // fdatasync(2) does not sync attributes
        file->node->durable_attributes = attributes;
    return to_errno(-code);
}
STANDS_FOR(int, fdatasync, int fd) {
    Machine* const machine = simulated(fd);
    return machine ? to_errno(-sync_all(*machine, fd)) : __real_fdatasync(fd);
}
STANDS_FOR(int, futimens, int fd, const timespec* times) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_futimens(fd, times);
    if (const OpenFile* const file = file_of(*machine, fd))
        file->node->changed = machine->seconds();
    return 0;
}
STANDS_FOR(int, flock, int fd, int operation) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_flock(fd, operation);
    return machine->world().is_in_vacuum() ? to_errno(-EIO)
                                           : to_errno(lock(*file_of(*machine, fd), operation));
}

STANDS_FOR(int, mkdirat, int directory, const char* name, mode_t mode) {
    Machine* const machine = simulated(directory);
    if (!machine)
        return __real_mkdirat(directory, name, mode);
    if (machine->world().is_in_vacuum())
        return to_errno(-EIO);
    Node& parent = *file_of(*machine, directory)->node;
    if (parent.names.contains(name))
        return to_errno(-EEXIST);
    machine->system().files().make_directory(parent, name);
    return 0;
}
STANDS_FOR(int, unlinkat, int directory, const char* name, int flags) {
    Machine* const machine = simulated(directory);
    if (!machine)
        return __real_unlinkat(directory, name, flags);
    if (machine->world().is_in_vacuum())
        return to_errno(-EIO);
    auto& names = file_of(*machine, directory)->node->names;
    return names.erase(name) == 1 ? 0 : to_errno(-ENOENT);
}

STANDS_FOR(DIR*, fdopendir, int fd) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fdopendir(fd);
    if (!file_of(*machine, fd))
        return nullptr;
    auto listing = std::make_unique<Listing>(Listing{.fd = fd, .names = {}});
    for (const auto& [name, node] : file_of(*machine, fd)->node->names)
        listing->names.push_back(name);
    return reinterpret_cast<DIR*>(listing.release());
}
STANDS_FOR(dirent*, readdir, DIR* listed) {
    if (!Machine::current())
        return __real_readdir(listed);
    auto& listing = *reinterpret_cast<Listing*>(listed);
    if (listing.next == listing.names.size())
        return nullptr;
    std::strncpy(listing.entry.d_name, listing.names[listing.next++].c_str(),
                 sizeof(listing.entry.d_name) - 1);
    return &listing.entry;
}
STANDS_FOR(int, closedir, DIR* listed) {
    if (!Machine::current())
        return __real_closedir(listed);
    const std::unique_ptr<Listing> listing(reinterpret_cast<Listing*>(listed));
    return ::close(listing->fd);
}

// Only links of /proc/self/fd are simulated.
STANDS_FOR(ssize_t, readlink, const char* path, char* place, std::size_t size) {
    constexpr std::string_view descriptors = "/proc/self/fd/";
    Machine* const machine = Machine::current();
    if (!machine || !std::string_view(path).starts_with(descriptors))
        return __real_readlink(path, place, size);
    const int fd = std::stoi(std::string(path).substr(descriptors.size()));
    if (!file_of(*machine, fd))
        return to_errno(-EBADF);
    const std::string& name = file_of(*machine, fd)->path;
    const std::size_t length = std::min(size, name.size());
    std::memcpy(place, name.data(), length);
    return static_cast<ssize_t>(length);
}
STANDS_FOR(ssize_t, __readlink_chk, const char* path, char* place, std::size_t size, std::size_t) {
    return __wrap_readlink(path, place, size);
}

// A part is mapped from the memfd that has its bytes.
STANDS_FOR(void*, mmap, void* address, std::size_t length, int protection, int flags, int fd,
           off_t offset) {
    const bool is_small = fd < 0 && !address && length <= page && Machine::current();
    if (is_small && protection == (PROT_READ | PROT_WRITE)) {
        auto& [all, spare] = small_pages();
        if (spare.empty())
            spare.push_back(
                *all.insert(__real_mmap(nullptr, page, protection, flags, -1, 0)).first);
        void* const given = spare.back();
        spare.pop_back();
        return given == MAP_FAILED ? given : std::memset(given, 0, page);
    }
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_mmap(address, length, protection, flags, fd, offset);
    if ((flags & MAP_SYNC) != 0 || !file_of(*machine, fd)) {
        errno = EOPNOTSUPP;
        return MAP_FAILED;
    }
    const auto node = file_of(*machine, fd)->node;
    void* const place = __real_mmap(address, length, protection, flags, node->memory_fd, offset);
    if (place != MAP_FAILED)
        machine->mapped.push_back({static_cast<const std::byte*>(place), length, node});
    return place;
}
STANDS_FOR(int, munmap, void* address, std::size_t length) {
    if (Machine::current() && small_pages().all.contains(address)) {
        small_pages().spare.push_back(address);
        return 0;
    }
    if (Machine* const machine = Machine::current())
        std::erase_if(machine->mapped, [&](const auto& part) {
            return part.begin >= address && part.begin < static_cast<std::byte*>(address) + length;
        });
    return __real_munmap(address, length);
}

STANDS_FOR(int, madvise, void* address, std::size_t length, int advice) {
    return Machine::current() ? 0 : __real_madvise(address, length, advice);
}
STANDS_FOR(int, mincore, void* address, std::size_t length, unsigned char* pages) {
    return Machine::current() ? to_errno(-ENOMEM) : __real_mincore(address, length, pages);
}
STANDS_FOR(int, sync_file_range, int fd, off_t offset, off_t length, unsigned flags) {
    return simulated(fd) ? 0 : __real_sync_file_range(fd, offset, length, flags);
}

#define STANDS_FOR_ANOTHER extern "C" __attribute__((visibility("default")))

STANDS_FOR_ANOTHER int pmem_is_pmem(const void*, std::size_t) { return 0; }

STANDS_FOR_ANOTHER int pmem_msync(const void* address, std::size_t size) {
    Machine& machine = *Machine::current();
    const auto* const begin = static_cast<const std::byte*>(address);
    machine.syncs();
    while (machine.world().process()->is_killed && !machine.world().is_in_vacuum())
        machine.world().block(rpmem::simulation::never);
    if (machine.world().is_in_vacuum())
        return to_errno(-EIO);
    for (const auto& part : machine.mapped)
        if (begin >= part.begin && begin < part.begin + part.length) {
            machine.writes(*part.node);
            const auto node = part.node; // the vector may change meanwhile
            return to_errno(
                -machine.disk().sync(node, static_cast<std::size_t>(begin - part.begin), size));
        }
    return to_errno(-ENOMEM);
}
