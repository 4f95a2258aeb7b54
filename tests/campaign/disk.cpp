// SPDX-License-Identifier: BSD-3-Clause
// disk BACKING LOG MOUNTPOINT
//
// The disk of the campaign: a FUSE file system with two files, in the foreground. "disk" is a disk
// for a loop device, stored in BACKING. Its writes and flushes are recorded in LOG. Writes to
// "marks" are recorded in LOG as marks. One thread serves all requests, so the log has the order in
// which they ended. The kernel starts a flush after the writes that it covers. Discards are
// refused.
#define FUSE_USE_VERSION 31
#include "tests/campaign/log.hpp"

#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

using rpmem::campaign::Kind;
using rpmem::campaign::Record;

constexpr const char* disk_name = "/disk";
constexpr const char* marks_name = "/marks";
constexpr std::size_t log_buffer = std::size_t{1} << 20;
constexpr unsigned max_write = 1U << 20; // the limit of the kernel

struct Disk {
    int backing = -1;
    std::FILE* log = nullptr;
};
Disk disk;

bool is(const char* path, const char* name) { return std::strcmp(path, name) == 0; }

int append(Kind kind, std::uint64_t offset, const char* data, std::size_t size) {
    const Record record{kind, static_cast<std::uint32_t>(size), offset};
    if (std::fwrite(&record, sizeof(record), 1, disk.log) != 1 ||
        (size > 0 && std::fwrite(data, size, 1, disk.log) != 1))
        return -EIO;
    return 0;
}

int get_attributes(const char* path, struct stat* status, fuse_file_info*) {
    *status = {};
    status->st_nlink = 1;
    if (is(path, "/")) {
        status->st_mode = S_IFDIR | 0700;
        return 0;
    }
    if (!is(path, disk_name) && !is(path, marks_name))
        return -ENOENT;
    status->st_mode = S_IFREG | 0600;
    struct stat backing {};
    if (is(path, disk_name) && ::fstat(disk.backing, &backing) == 0)
        status->st_size = backing.st_size;
    return 0;
}

int read_directory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
                   fuse_readdir_flags) {
    if (!is(path, "/"))
        return -ENOTDIR;
    for (const char* name : {".", "..", disk_name + 1, marks_name + 1})
        fill(buffer, name, nullptr, 0, fuse_fill_dir_flags{});
    return 0;
}

int open_file(const char* path, fuse_file_info* file) {
    if (!is(path, disk_name) && !is(path, marks_name))
        return -ENOENT;
    file->direct_io = is(path, marks_name);
    return 0;
}

int read_file(const char* path, char* buffer, std::size_t size, off_t offset, fuse_file_info*) {
    if (!is(path, disk_name))
        return -EACCES;
    const ssize_t got = ::pread(disk.backing, buffer, size, offset);
    return got < 0 ? -errno : static_cast<int>(got);
}

int write_file(const char* path, const char* data, std::size_t size, off_t offset,
               fuse_file_info*) {
    const bool is_mark = is(path, marks_name);
    if (!is_mark && ::pwrite(disk.backing, data, size, offset) != static_cast<ssize_t>(size))
        return -EIO;
    const int code =
        append(is_mark ? Kind::mark : Kind::write, static_cast<std::uint64_t>(offset), data, size);
    return code != 0 ? code : static_cast<int>(size);
}

int flush_file(const char* path, int, fuse_file_info*) {
    if (!is(path, disk_name))
        return 0;
    return append(Kind::flush, 0, nullptr, 0);
}

int refuse_discard(const char*, int, off_t, off_t, fuse_file_info*) { return -EOPNOTSUPP; }

int ignore_size(const char*, off_t, fuse_file_info*) { return 0; } // for O_TRUNC on "marks"

void* begin(fuse_conn_info* connection, fuse_config* config) {
    connection->max_write = max_write;
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_WRITEBACK_CACHE);
    config->kernel_cache = 1;
    return nullptr;
}

void end(void*) { std::fclose(disk.log); }

} // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: %s BACKING LOG MOUNTPOINT\n", arguments[0]);
        return 2;
    }
    disk.backing = ::open(arguments[1], O_RDWR | O_CLOEXEC);
    disk.log = std::fopen(arguments[2], "abe");
    if (disk.backing < 0 || !disk.log) {
        std::perror("cannot open the disk or its log");
        return 1;
    }
    std::setvbuf(disk.log, nullptr, _IOFBF, log_buffer);
    fuse_operations operations{};
    operations.getattr = get_attributes;
    operations.readdir = read_directory;
    operations.open = open_file;
    operations.read = read_file;
    operations.write = write_file;
    operations.fsync = flush_file;
    operations.fallocate = refuse_discard;
    operations.truncate = ignore_size;
    operations.init = begin;
    operations.destroy = end;
    std::string options = "-s"; // one thread
    std::string foreground = "-f";
    char* const own[] = {arguments[0], options.data(), foreground.data(), arguments[3], nullptr};
    return fuse_main(4, const_cast<char**>(own), &operations, nullptr);
}
