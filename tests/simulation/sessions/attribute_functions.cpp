// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions of the C library for extended attributes, see file_functions.cpp. A write
// becomes durable with fsync(2) of its file.
#include "tests/simulation/interposed.hpp"
#include "tests/simulation/sessions/machine.hpp"
#include "tests/simulation/sessions/planted.hpp"

#include <linux/fs.h>
#include <sys/xattr.h>

#include <cerrno>

using rpmem::simulation::first_descriptor;
using rpmem::simulation::Machine;
using rpmem::simulation::OpenFile;

namespace {

int to_errno(int code) {
    errno = code;
    return -1;
}

Machine* simulated(int fd) { return fd >= first_descriptor ? Machine::current() : nullptr; }

} // namespace

STANDS_FOR(ssize_t, fgetxattr, int fd, const char* name, void* value, std::size_t size) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fgetxattr(fd, name, value, size);
    const OpenFile* const file = machine->system().file(fd).get();
    if (!file)
        return to_errno(EBADF);
    if (rpmem::simulation::sessions::lacks_attributes())
        return to_errno(ENOTSUP);
    const auto found = file->node->attributes.find(name);
    if (found == file->node->attributes.end())
        return to_errno(ENODATA);
    if (found->second.size() > size)
        return to_errno(ERANGE);
    std::memcpy(value, found->second.data(), found->second.size());
    return static_cast<ssize_t>(found->second.size());
}
STANDS_FOR(int, fsetxattr, int fd, const char* name, const void* value, std::size_t size,
           int flags) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fsetxattr(fd, name, value, size, flags);
    const OpenFile* const file = machine->system().file(fd).get();
    if (machine->world().is_in_vacuum() || !file)
        return to_errno(EBADF);
    if (flags == XATTR_REPLACE && !file->node->attributes.contains(name))
        return to_errno(ENODATA);
    if (machine->disk().is_full())
        return to_errno(ENOSPC);
    machine->writes(*file->node);
    file->node->attributes[name] = std::string(static_cast<const char*>(value), size);
    return 0;
}
STANDS_FOR(int, fremovexattr, int fd, const char* name) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_fremovexattr(fd, name);
    const OpenFile* const file = machine->system().file(fd).get();
    if (machine->world().is_in_vacuum() || !file)
        return to_errno(EBADF);
    machine->writes(*file->node);
    return file->node->attributes.erase(name) == 1 ? 0 : to_errno(ENODATA);
}
STANDS_FOR(int, ioctl, int fd, unsigned long request, void* argument) {
    Machine* const machine = simulated(fd);
    if (!machine)
        return __real_ioctl(fd, request, argument);
    const OpenFile* const file = machine->system().file(fd).get();
    if (!file || request != FS_IOC_GETVERSION)
        return to_errno(ENOTTY);
    std::memcpy(argument, &file->node->generation, sizeof(file->node->generation));
    return 0;
}
