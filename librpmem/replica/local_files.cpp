// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/local_files.hpp"

#include "common/base/unique_fd.hpp"
#include "common/wire/block_digest.hpp"
#include "librpmem/replica/mappings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace rpmem::initiator {
namespace {

Failure no_file(std::uintptr_t address, const char* what) {
    return fail(ErrorClass::caller_fault, ENOTSUP, "the memory at {:#x} is {}", address, what);
}

// Returns a number that changes if the inode is reused for another file: a digest of the handle,
// which contains the generation of the inode. Returns 0 on file systems without handles.
std::uint64_t generation_of(int fd) {
    alignas(file_handle) std::array<std::byte, sizeof(file_handle) + MAX_HANDLE_SZ> place{};
    auto* const handle = new (place.data()) file_handle{};
    handle->handle_bytes = MAX_HANDLE_SZ;
    int mount = 0;
    if (::name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) != 0)
        return 0;
    wire::BlockDigest digest{};
    const auto bytes = std::span(place).subspan(sizeof(file_handle), handle->handle_bytes);
    wire::digest_blocks(bytes, {&digest, 1});
    std::uint64_t number = 0;
    std::memcpy(&number, digest.data(), sizeof(number));
    return number;
}

// The kernel shows a path with escapes, and the file may have been renamed or removed since. So the
// inode is compared. O_PATH, because to close any other descriptor of a file would release the
// locks that the program holds by fcntl(2).
Result<LocalFile> examine(const Mapping& mapping) {
    const UniqueFd fd(::open(mapping.path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot open {}", mapping.path);
    if (status.st_ino != mapping.inode)
        return fail(ErrorClass::caller_fault, ESTALE, "{} is another file than the one in memory",
                    mapping.path);
    if (!S_ISREG(status.st_mode))
        return no_file(mapping.begin, "a device, which does not tell when it was modified");
    auto file = local_file(fd.get(), mapping.path);
    if (!file)
        return fail_errno(ErrorClass::caller_fault, errno, "cannot examine {}", mapping.path);
    return std::move(*file);
}

bool is_known(const std::vector<LocalFile>& files, const LastingIdentity& identity) {
    return std::ranges::find(files, identity, &LocalFile::identity) != files.end();
}

} // namespace

std::optional<LastingIdentity> local_identity(int fd) {
    auto identity = lasting_identity(fd);
    if (identity)
        identity->inode_generation = generation_of(fd);
    return identity;
}

std::optional<LocalFile> local_file(int fd, std::string path) {
    struct stat status {};
    const auto identity = local_identity(fd);
    if (!identity || ::fstat(fd, &status) != 0)
        return std::nullopt;
    constexpr std::int64_t second = 1'000'000'000;
    return LocalFile{*identity, status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec,
                     std::move(path)};
}

Result<std::vector<LocalFile>> local_files(std::span<const std::byte> memory) {
    RPMEM_ASSIGN(const auto mappings, mappings_of(memory));
    auto covered = reinterpret_cast<std::uintptr_t>(memory.data());
    std::vector<LocalFile> files;
    for (const Mapping& mapping : mappings) {
        if (mapping.begin > covered)
            return no_file(covered, "not mapped");
        if (mapping.inode == 0 || !mapping.is_shared)
            return no_file(covered, "no shared mapping of a file");
        RPMEM_ASSIGN(LocalFile file, examine(mapping));
        if (!is_known(files, file.identity))
            files.push_back(std::move(file));
        if (files.size() > max_local_files)
            return fail(ErrorClass::caller_fault, ENOTSUP,
                        "the pool is mapped from more than {} files", max_local_files);
        covered = mapping.end;
    }
    if (covered < reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size())
        return no_file(covered, "not mapped");
    return files;
}

bool maps_one_of(std::span<const std::byte> memory, const std::vector<LocalFile>& files) {
    const auto mappings = mappings_of(memory);
    if (!mappings)
        return true;
    return std::ranges::any_of(*mappings, [&](const Mapping& mapping) {
        if (mapping.inode == 0)
            return false;
        const auto file = examine(mapping);
        return file ? is_known(files, file->identity) : file.error().code != ENOTSUP;
    });
}

} // namespace rpmem::initiator
