// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/files/part_file.hpp"

#include "common/base/deep_flush.hpp"
#include "common/base/io.hpp"
#include "common/base/medium_kind.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/durability/sync_tracker.hpp"
#include "rpmemd/pools/files/device.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/page_cache.hpp"
#include "rpmemd/pools/files/part_lock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace rpmem::target {
namespace {

constexpr int open_flags = O_NOCTTY | O_NONBLOCK;

// A Device DAX can only be mapped. The length must be a multiple of its alignment.
Result<MappedMemory> map_header(const PartFile& part) {
    const auto length = std::max<std::size_t>(part.alignment(), header_size);
    void* address = mmap(nullptr, length, part.protection(), MAP_SHARED, part.fd(), 0);
    if (address == MAP_FAILED)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot map the header of {}",
                          part.path().native());
    return MappedMemory(static_cast<std::byte*>(address), {length});
}

Result<> write_mapped(const PartFile& part, const PoolHeader& header, const MappedMemory& page) {
    Medium medium;
    RPMEM_TRY(medium.add(part.fd(), part.path().native(), page.get(), page.get_deleter().size, true,
                         0, part.deep_flush()));
    std::memcpy(page.get(), &header, sizeof(header));
    if (const int code = medium.deep_persist(page.get(), sizeof(header)); code != 0)
        return fail_errno(ErrorClass::resource_limit, code,
                          "cannot make the header of part {} durable", part.path().native());
    return {};
}

// Calls TRANSFER(done bytes) for a whole header page. Returns ENODATA at the end of the file.
template <typename Transfer>
int transfer_header(Transfer transfer) {
    std::size_t done = 0;
    while (done < header_size) {
        const ssize_t count = transfer(done);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (count == 0)
            return ENODATA;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

// Returns the free bytes of the file system, or nothing if it does not report them.
std::optional<std::uint64_t> space_left(int fd) {
    struct statvfs system {};
    if (fstatvfs(fd, &system) != 0 || system.f_blocks == 0)
        return std::nullopt;
    return std::uint64_t{system.f_bfree} * system.f_frsize;
}

std::uint64_t space_taken(int fd) {
    constexpr std::uint64_t block = 512; // unit of st_blocks, see stat(3type)
    struct stat status {};
    return fstat(fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * block : 0;
}

// Checks CANCELLED after each step: without fallocate(2), writing all blocks can take minutes.
int allocate_space(int fd, std::uint64_t size, const Cancelled& cancelled) {
    constexpr std::uint64_t step = 64 << 20;
    int code = 0;
    for (std::uint64_t done = 0; done < size && code == 0;) {
        if (cancelled && cancelled())
            return ECANCELED;
        const std::uint64_t length = std::min(step, size - done);
        code = posix_fallocate(fd, static_cast<off_t>(done), static_cast<off_t>(length));
        if (code == EINTR)
            code = 0;
        else
            done += length;
    }
    return code;
}

constexpr const char* dangling_link =
    "it is a symbolic link to a file that does not exist; remove the link";

// Maps the errno values of the system to the few that the headers of this folder document.
int store_code(int code) {
    switch (code) {
    case ENOTDIR:
        return ENOENT;
    case EPERM:
    case EROFS:
        return EACCES;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case ENODEV:
        return EINVAL;
    default:
        return code;
    }
}

Failure path_failure(const char* what, const std::filesystem::path& path, Error error) {
    const int code = error.code = store_code(error.code);
    const bool users = code == ENOENT || code == EEXIST || code == EACCES || code == EINVAL;
    error.kind = users ? ErrorClass::caller_fault : ErrorClass::resource_limit;
    return in_context(fmt::format("cannot {} part {}", what, path.native()), std::move(error));
}

Failure path_failure(const char* what, const std::filesystem::path& path, int code) {
    return path_failure(what, path,
                        {code, ErrorClass::caller_fault, std::generic_category().message(code)});
}

// WHAT is the verb for the error text.
Result<ResolvedPath> place_of(const char* what, const std::filesystem::path& path) {
    auto place = find_place(path);
    return place ? std::move(place) : path_failure(what, path, std::move(place).error());
}

Failure wrong_kind(const std::filesystem::path& path) {
    return invalid("part {} is neither a regular file nor a Device DAX", path.native());
}

// Call it before the file is opened, because opening a device can, for example, start a watchdog.
bool is_usable_kind(const struct stat& status) {
    if (!S_ISCHR(status.st_mode))
        return S_ISREG(status.st_mode);
    std::error_code none;
    const auto subsystem = std::filesystem::read_symlink(
        fmt::format("/sys/dev/char/{}:{}/subsystem", major(status.st_rdev), minor(status.st_rdev)),
        none);
    return subsystem.filename() == "dax";
}

Failure sync_failure(int code, const std::filesystem::path& path) {
    return fail_errno(ErrorClass::resource_limit, code, "cannot make the header of part {} durable",
                      path.native());
}

std::chrono::nanoseconds time_of(const timespec& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

} // namespace

void Unmap::operator()(std::byte* memory) const { munmap(memory, size); }

Result<PartFile> PartFile::open(const std::filesystem::path& path, const PartRules& rules) {
    RPMEM_ASSIGN(const auto place, place_of("open", path));
    if (!place.status)
        return path_failure("open", path, ENOENT);
    if (!is_usable_kind(*place.status))
        return wrong_kind(path);
    UniqueFd fd = open_unless_read(place, open_flags | (rules.read_only ? O_RDONLY : O_RDWR));
    if (!fd && errno == EWOULDBLOCK)
        return path_failure("open", path, EBUSY);
    if (!fd)
        return path_failure("open", path, errno);
    PartFile part(std::move(fd), path);
    part.read_only_ = rules.read_only;
    if (!rules.unlocked)
        RPMEM_TRY(part.lock(place));
    RPMEM_TRY(part.examine(rules.mode));
    return part;
}

Result<PartFile> PartFile::make(const std::filesystem::path& path, std::uint64_t size,
                                const PartRules& rules) {
    RPMEM_ASSIGN(const auto place, place_of("make", path));
    const int directory = place.named().directory.get();
    const char* const name = place.named().name.c_str();
    PartFile part(UniqueFd(), path); // nothing may throw between openat() and the guard
    part.fd_.reset(
        openat(directory, name, open_flags | O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, rules.mode));
    if (!part.fd_)
        return errno == EEXIST && place.link && !place.status
                   ? path_failure("make", path, {EEXIST, ErrorClass::caller_fault, dangling_link})
                   : path_failure("make", path, errno);
    part.kind_ = Kind::new_file;
    part.size_ = size;
    bool stays = false;
    const auto remove_unless_it_stays = [&](const PartFile* made) {
        if (!stays && made->is_at(place.named()))
            unlinkat(directory, name, 0);
    };
    const std::unique_ptr<const PartFile, decltype(remove_unless_it_stays)> guard(
        &part, remove_unless_it_stays);
    RPMEM_TRY(part.lock(place));
    RPMEM_TRY(part.allocate(rules.cancelled));
    stays = true;
    return Result<PartFile>(std::move(part));
}

Result<> PartFile::lock(const ResolvedPath& place) {
    if (read_only_ ? !lock_to_read(fd(), is_leased_) : !lock_to_write(fd())) {
        if (errno == EWOULDBLOCK)
            return fail(ErrorClass::caller_fault, EBUSY,
                        "part {} is in use by another process or session", path_.native());
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot lock part {} (flock): its file system must support locks, or two "
                          "sessions could write to it",
                          path_.native());
    }
    if (!is_at(place.entry))
        return fail(ErrorClass::caller_fault, ENOENT,
                    "part {} was removed or replaced while it was being opened", path_.native());
    return {};
}

bool PartFile::is_wanted() const { return is_leased_ && is_lease_broken(fd()); }

// Returns whether ENTRY still refers to this file. Between opening and locking, another session may
// have removed the file and created a new one.
bool PartFile::is_at(const Entry& entry) const {
    return is_file_at(fd(), entry.directory.get(), entry.name);
}

Result<> PartFile::examine(mode_t mode) {
    struct stat status {};
    if (fstat(fd(), &status) != 0)
        return fail_errno(ErrorClass::bug, errno, "cannot examine part {}", path_.native());
    RPMEM_TRY(in_context("part", check_ownership(fd(), status, path_.native(), mode)));
    if (S_ISREG(status.st_mode)) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        changed_ = time_of(status.st_ctim);
        modified_before_ = time_of(status.st_mtim);
        return {};
    }
    if (!S_ISCHR(status.st_mode))
        return wrong_kind(path_);
    const auto device = Device::of(fd(), path_.native());
    const auto size = device.and_then([](const Device& dax) { return dax.size(); });
    const auto alignment = device.and_then([](const Device& dax) { return dax.alignment(); });
    if (!size || !alignment)
        return invalid("part {} is not a usable Device DAX: {}", path_.native(),
                       size ? alignment.error().text : size.error().text);
    kind_ = Kind::device_dax;
    deep_flush_ = open_deep_flush(status.st_rdev, true);
    size_ = *size;
    alignment_ = *alignment;
    return {};
}

std::chrono::nanoseconds PartFile::modified() const {
    struct stat status {};
    const bool is_file = fstat(fd(), &status) == 0 && S_ISREG(status.st_mode);
    return is_file ? time_of(status.st_mtim) : std::chrono::nanoseconds(0);
}

Result<PoolHeader> PartFile::read_header() const {
    PoolHeader header{};
    if (is_device_dax()) {
        RPMEM_ASSIGN(const auto page, map_header(*this));
        std::memcpy(&header, page.get(), sizeof(header));
        return header;
    }
    auto* bytes = reinterpret_cast<std::byte*>(&header);
    const int code = transfer_header([&](std::size_t done) {
        return pread(fd(), bytes + done, header_size - done, static_cast<off_t>(done));
    });
    if (code != 0)
        return fail_errno(ErrorClass::resource_limit, code, "cannot read the header of part {}",
                          path_.native());
    return header;
}

Result<> PartFile::write_header(const PoolHeader& header, SyncTracker* syncs) const {
    const auto synced = [syncs](auto sync) {
        return syncs ? syncs->run(0, header_size, sync) : sync();
    };
    if (is_device_dax()) {
        RPMEM_ASSIGN(const auto page, map_header(*this));
        Result<> written;
        const int code = synced([&] {
            written = write_mapped(*this, header, page);
            return written ? 0 : written.error().code;
        });
        return written && code != 0 ? sync_failure(code, path_) : written;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&header);
    int code = transfer_header([&](std::size_t done) {
        return pwrite(fd(), bytes + done, header_size - done, static_cast<off_t>(done));
    });
    if (code == 0)
        if (code = synced([this] { return fdatasync(fd()) == 0 ? 0 : errno; }); code != 0)
            return sync_failure(code, path_);
    if (code != 0)
        return fail_errno(ErrorClass::resource_limit, code, "cannot write the header of part {}",
                          path_.native());
    return {};
}

bool PartFile::drop_cache() const {
    if (is_device_dax())
        return true;
    // Dirty pages cannot be dropped, so write them. They were not acknowledged, so ignore an error.
    static_cast<void>(sync_file_range(fd(), 0, 0,
                                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                          SYNC_FILE_RANGE_WAIT_AFTER));
    static_cast<void>(posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED));
    // On tmpfs the page cache is the medium, so no page can be dropped.
    return medium_of(fd()).kind == MediumKind::forgetful || !has_cached_pages(fd(), size_);
}

Result<> PartFile::allocate(const Cancelled& cancelled) const {
    if (is_device_dax())
        return {};
    // A size that is too large by mistake must not fill the file system, not even for a moment.
    const auto left = space_left(fd());
    const std::uint64_t taken = space_taken(fd());
    if (left && size_ > taken && size_ - taken > *left)
        return fail(ErrorClass::resource_limit, ENOSPC,
                    "cannot allocate {} bytes for part {}: its file system has {} left", size_,
                    path_.native(), *left);
    const int code = allocate_space(fd(), size_, cancelled);
    // EFBIG would mean to the client that the pool is too small.
    if (code == EFBIG)
        return fail(ErrorClass::resource_limit, ENOSPC,
                    "cannot allocate {} bytes for part {}: {}; the limit of this login (ulimit -f) "
                    "or of the file system is lower",
                    size_, path_.native(), strerror(code));
    if (code != 0)
        return fail_errno(ErrorClass::resource_limit, code, "cannot allocate {} bytes for part {}",
                          size_, path_.native());
    return {};
}

Result<> PartFile::make_durable() const {
    if (is_device_dax())
        return {};
    if ((kind_ == Kind::new_file ? fsync(fd()) : fdatasync(fd())) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot make the contents of part {} durable", path_.native());
    if (kind_ != Kind::new_file)
        return {};
    RPMEM_ASSIGN(const auto place, place_of("find", path_));
    return sync_directory(place.named(), path_);
}

Result<UniqueFd> PartFile::open_directory() const {
    RPMEM_ASSIGN(auto place, place_of("find", path_));
    return std::move(place.link ? place.link->directory : place.entry.directory);
}

Result<> PartFile::undo(bool has_header) const {
    if (kind_ == Kind::new_file)
        return remove(has_header);
    return has_header ? write_header(PoolHeader{}) : Result<>();
}

Result<> PartFile::remove(bool has_header) const {
    if (is_device_dax())
        return has_header ? write_header(PoolHeader{}) : Result<>{};
    RPMEM_ASSIGN(const auto place, place_of("remove", path_));
    if (!is_at(place.entry))
        return path_failure("remove", path_, ENOENT);
    const Entry& named = place.named();
    if (unlinkat(named.directory.get(), named.name.c_str(), 0) != 0)
        return path_failure("remove", path_, errno);
    return sync_directory(named, path_);
}

} // namespace rpmem::target
