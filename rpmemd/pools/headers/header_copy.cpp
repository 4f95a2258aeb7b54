// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/headers/header_copy.hpp"

#include "common/base/hex.hpp"
#include "common/base/log.hpp"
#include "common/pools/checksum.hpp"
#include "common/pools/pool_set_file.hpp"
#include "common/transport/crypto.hpp"
#include "rpmemd/pools/headers/later_format.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

namespace rpmem::target {
namespace {

// Precedes the headers. Little-endian, like them.
struct Preamble {
    FormatMagic magic;
    std::uint32_t count; // number of old headers, and of new ones
    std::uint32_t reserved;
    std::uint64_t checksum; // fletcher_checksum() of the whole copy
};
static_assert(sizeof(Preamble) == 24);

constexpr FormatMagic magic = {'R', 'P', 'M', 'H', 'D', 'R', 'S', '1'};

std::size_t size_of_copy(std::size_t count) { return sizeof(Preamble) + 2 * count * header_size; }

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    return fletcher_checksum(bytes, offsetof(Preamble, checksum));
}

// Bytes of the digest in a file name: enough that nobody can construct a second pool set with the
// same file name.
constexpr std::size_t bytes_of_name = 16;

// FNV-1a, which the first release used for file names.
std::uint64_t old_hash(std::string_view text) {
    constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
    constexpr std::uint64_t prime = 0x100000001b3;
    std::uint64_t value = offset_basis;
    for (const char character : text)
        value = (value ^ static_cast<unsigned char>(character)) * prime;
    return value;
}

// Calls TRANSFER with the number of transferred bytes until SIZE bytes are transferred or it
// returns 0. Returns the number of transferred bytes.
template <typename Transfer>
Result<std::size_t> transfer_all(std::size_t size, const std::string& name, Transfer transfer) {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count = transfer(done);
        if (count == 0)
            break;
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (errno != EINTR)
            return fail_errno(ErrorClass::resource_limit, errno,
                              "cannot read or write the copy of the headers, {}", name);
    }
    return done;
}

template <typename... Args>
Failure unusable_copy(fmt::format_string<Args...> why, Args&&... args) {
    return in_context(
        "the copy of the headers cannot be used",
        fail(ErrorClass::caller_fault, EINVAL, why, std::forward<Args>(args)...).value());
}

Failure unusable(int code, const std::string& name) {
    return fail_errno(ErrorClass::resource_limit, code,
                      "cannot make room for the copy of the headers, {}", name);
}

} // namespace

std::vector<std::byte> encode(const HeaderCopy& copy) {
    std::vector<std::byte> bytes(size_of_copy(copy.before.size()));
    Preamble preamble{.magic = magic,
                      .count = static_cast<std::uint32_t>(copy.before.size()),
                      .reserved = 0,
                      .checksum = 0};
    std::memcpy(bytes.data(), &preamble, sizeof(preamble));
    const std::size_t half = copy.before.size() * header_size;
    std::memcpy(bytes.data() + sizeof(preamble), copy.before.data(), half);
    std::memcpy(bytes.data() + sizeof(preamble) + half, copy.after.data(), half);
    preamble.checksum = checksum_of(bytes);
    std::memcpy(bytes.data(), &preamble, sizeof(preamble));
    return bytes;
}

Result<HeaderCopy> decode_header_copy(std::span<const std::byte> bytes) {
    Preamble preamble{};
    if (bytes.size() < sizeof(preamble))
        return unusable_copy("it has {} bytes; the minimum is {}", bytes.size(), sizeof(preamble));
    std::memcpy(&preamble, bytes.data(), sizeof(preamble));
    const std::size_t count = preamble.count;
    if (preamble.magic != magic || preamble.reserved != 0)
        return unusable_copy(
            "it is of another version of rpmemd: it begins with \"{}\" and has {:#x} "
            "in its reserved field, expected \"{}\" and 0",
            printable({preamble.magic.data(), preamble.magic.size()}), preamble.reserved,
            std::string_view(magic.data(), magic.size()));
    if (count == 0 || count > max_pool_set_parts)
        return unusable_copy("it has {} headers; 1 to {} are possible", count, max_pool_set_parts);
    if (bytes.size() < size_of_copy(count))
        return unusable_copy("it is truncated: it has {} bytes, expected {} for {} headers",
                             bytes.size(), size_of_copy(count), count);
    const auto checksum = checksum_of(bytes.first(size_of_copy(count)));
    if (checksum != preamble.checksum)
        return unusable_copy("it is corrupted: its checksum is {:#x}, its contents give {:#x}",
                             preamble.checksum, checksum);
    const std::byte* const headers = bytes.data() + sizeof(preamble);
    HeaderCopy copy{std::vector<PoolHeader>(count), std::vector<PoolHeader>(count)};
    std::memcpy(copy.before.data(), headers, count * header_size);
    std::memcpy(copy.after.data(), headers + count * header_size, count * header_size);
    return copy;
}

std::string HeaderCopyFile::name_for(const std::filesystem::path& pool_set) {
    transport::Digest digest{};
    const std::string path = pool_set.lexically_normal().native();
    if (!transport::sha256({transport::bytes_of(path)}, digest))
        throw std::bad_alloc();
    return "headers-" + hex_of(std::span(digest).first<bytes_of_name>());
}

std::string HeaderCopyFile::old_name_for(const std::filesystem::path& pool_set) {
    return fmt::format("headers-{:016x}", old_hash(pool_set.lexically_normal().native()));
}

void HeaderCopyFile::remove(int directory, const std::filesystem::path& pool_set) {
    static_cast<void>(::unlinkat(directory, name_for(pool_set).c_str(), 0));
    static_cast<void>(::unlinkat(directory, old_name_for(pool_set).c_str(), 0));
}

Result<HeaderCopyFile> HeaderCopyFile::open(int directory, const std::filesystem::path& pool_set,
                                            std::size_t count) {
    const auto name = name_for(pool_set);
    // A copy with the old name may be the only valid one. A copy of another pool set with the same
    // hash does no harm, because restore_torn() compares it with the headers. An error is ignored:
    // usually there is no such file, or there is one with the new name already.
    static_cast<void>(::renameat2(directory, old_name_for(pool_set).c_str(), directory,
                                  name.c_str(), RENAME_NOREPLACE));
    UniqueFd fd(::openat(directory, name.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
    if (!fd)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot open the copy of the headers, {}", name);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the copy of the headers, {}, is no regular file", name);
    FormatMagic found{};
    if (::pread(fd.get(), found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()))
        RPMEM_TRY(refuse_later_format(found, magic, "the copy of the headers", name));
    // Allocate the space now, so that no later write can fail for lack of it.
    const auto size = static_cast<off_t>(size_of_copy(count));
    if (status.st_size < size) {
        if (const int code = ::posix_fallocate(fd.get(), 0, size); code != 0)
            return unusable(code, name);
        if (::fsync(fd.get()) != 0)
            return unusable(errno, name);
        // Some file systems cannot sync directories and report EINVAL.
        if (::fsync(directory) != 0 && errno != EINVAL)
            return unusable(errno, name);
    }
    return HeaderCopyFile(std::move(fd), name);
}

Result<> HeaderCopyFile::save(const HeaderCopy& copy) const {
    const auto bytes = encode(copy);
    RPMEM_TRY(transfer_all(bytes.size(), name_, [&](std::size_t done) {
        return ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                        static_cast<off_t>(done));
    }));
    if (::fdatasync(fd_.get()) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot make the copy of the headers durable, {}", name_);
    return {};
}

Result<std::optional<HeaderCopy>> HeaderCopyFile::load() const {
    std::vector<std::byte> bytes(sizeof(Preamble));
    const auto read = [&](std::size_t done) {
        return ::pread(fd_.get(), bytes.data() + done, bytes.size() - done,
                       static_cast<off_t>(done));
    };
    RPMEM_TRY(transfer_all(bytes.size(), name_, read));
    if (is_all_zero(bytes))
        return std::nullopt;
    // The count in the file is not trusted, so bound the size of the buffer.
    Preamble preamble{};
    std::memcpy(&preamble, bytes.data(), sizeof(preamble));
    bytes.resize(size_of_copy(std::min<std::size_t>(preamble.count, max_pool_set_parts)));
    RPMEM_ASSIGN(const auto size, transfer_all(bytes.size(), name_, read));
    bytes.resize(size);
    return decode_header_copy(bytes);
}

} // namespace rpmem::target
