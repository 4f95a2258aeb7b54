// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/headers/first_page.hpp"

#include "common/base/hex.hpp"
#include "common/pools/checksum.hpp"
#include "common/transport/crypto.hpp"
#include "rpmemd/pools/headers/later_format.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <span>

namespace rpmem::target {
namespace {

using transport::Digest;

// The first half of a slot begins with a preamble, and the second half is the page. Little-endian.
struct SlotPreamble {
    FormatMagic magic;
    std::uint64_t sequence;
    SavedPage::State state;
    std::uint32_t reserved;
    Digest part;
    std::uint64_t checksum; // fletcher_checksum() of the whole slot
};
static_assert(sizeof(SlotPreamble) == 64);
static_assert(sizeof(SlotPreamble) <= header_size);

constexpr FormatMagic slot_magic = {'R', 'P', 'M', 'P', 'A', 'G', 'E', '1'};
constexpr std::size_t page_slots = 2;
constexpr std::size_t digest_bytes_of_name = 16; // bytes of the digest in the file name

struct SlotContent {
    SlotPreamble preamble{};
    PoolHeader page{};
};

Digest page_digest(const std::string& text) {
    Digest digest{};
    if (!transport::sha256({transport::bytes_of(text)}, digest))
        throw std::bad_alloc();
    return digest;
}

Digest page_digest(const PartIdentity& part) {
    return page_digest(part.inode == 0 ? part.path
                                       : fmt::format("{}:{}:{}", part.file_system, part.inode,
                                                     part.inode_generation));
}

FirstPageFile::Slot encode_page(const SlotContent& content) {
    FirstPageFile::Slot slot{};
    SlotPreamble preamble = content.preamble;
    preamble.checksum = 0;
    std::memcpy(slot.data() + header_size, &content.page, header_size);
    std::memcpy(slot.data(), &preamble, sizeof(preamble));
    preamble.checksum = fletcher_checksum(slot, offsetof(SlotPreamble, checksum));
    std::memcpy(slot.data(), &preamble, sizeof(preamble));
    return slot;
}

// Returns nothing for a slot that was never written, or only in part.
std::optional<SlotContent> decode_page(const FirstPageFile::Slot& slot) {
    SlotContent content;
    std::memcpy(&content.preamble, slot.data(), sizeof(content.preamble));
    std::memcpy(&content.page, slot.data() + header_size, header_size);
    const bool is_valid =
        content.preamble.magic == slot_magic &&
        content.preamble.state <= SavedPage::State::hidden &&
        content.preamble.checksum == fletcher_checksum(slot, offsetof(SlotPreamble, checksum));
    return is_valid ? std::optional(content) : std::nullopt;
}

Failure page_failure(const char* what, const std::string& name, int code) {
    return fail_errno(ErrorClass::resource_limit, code, "cannot {} the saved first page, {}", what,
                      name);
}

UniqueFd open_page_file(int directory, const std::string& name, int mode) {
    return UniqueFd(::openat(directory, name.c_str(),
                             mode | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
}

Result<> allocate_slots(int fd, int directory, const std::string& name) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the file of the saved first page, {}, is no regular file", name);
    constexpr off_t size = page_slots * FirstPageFile::slot_size;
    if (status.st_size >= size)
        return {};
    if (const int code = ::posix_fallocate(fd, 0, size); code != 0)
        return page_failure("make room for", name, code);
    if (::fsync(fd) != 0)
        return page_failure("make room for", name, errno);
    // Some file systems cannot sync directories and report EINVAL.
    if (::fsync(directory) != 0 && errno != EINVAL)
        return page_failure("make room for", name, errno);
    return {};
}

} // namespace

bool is_remainder(const PoolHeader& page, const PoolHeader& saved) {
    const auto bytes = std::as_bytes(std::span(&page, 1));
    const auto whole = std::as_bytes(std::span(&saved, 1));
    for (std::size_t i = 0; i < header_size; ++i)
        if (bytes[i] != std::byte{0} && bytes[i] != whole[i])
            return false;
    return true;
}

std::string FirstPageFile::name_for(const std::filesystem::path& pool_set) {
    const Digest digest = page_digest(pool_set.lexically_normal().native());
    return "page-" + hex_of(std::span(digest).first<digest_bytes_of_name>());
}

void FirstPageFile::remove(int directory, const std::filesystem::path& pool_set) {
    static_cast<void>(::unlinkat(directory, name_for(pool_set).c_str(), 0));
}

Result<FirstPageFile> FirstPageFile::open(int directory, const std::filesystem::path& pool_set,
                                          const PartIdentity& part) {
    const std::string name = name_for(pool_set);
    FirstPageFile file(open_page_file(directory, name, O_RDWR | O_CREAT), name);
    if (!file.fd_)
        return page_failure("open", name, errno);
    RPMEM_TRY(allocate_slots(file.fd_.get(), directory, name));
    RPMEM_TRY(file.load(part));
    return file;
}

Result<FirstPageFile> FirstPageFile::open_to_read(int directory,
                                                  const std::filesystem::path& pool_set,
                                                  const PartIdentity& part) {
    const std::string name = name_for(pool_set);
    FirstPageFile file(open_page_file(directory, name, O_RDONLY), name);
    if (!file.fd_)
        return page_failure("open", name, errno);
    RPMEM_TRY(file.load(part));
    return file;
}

Result<> FirstPageFile::load(const PartIdentity& part) {
    part_ = page_digest(part);
    for (std::size_t index = 0; index < page_slots; ++index) {
        Slot slot{};
        std::size_t done = 0;
        while (done < slot.size()) {
            const ssize_t got = ::pread(fd_.get(), slot.data() + done, slot.size() - done,
                                        static_cast<off_t>(index * slot_size + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                return page_failure("read", name_, errno);
            if (got == 0)
                break;
            done += static_cast<std::size_t>(got);
        }
        FormatMagic magic{};
        std::memcpy(magic.data(), slot.data(), magic.size());
        RPMEM_TRY(refuse_later_format(magic, slot_magic, "the saved first page", name_));
        const auto content = decode_page(slot);
        if (!content || content->preamble.sequence <= sequence_)
            continue;
        sequence_ = content->preamble.sequence;
        slot_ = index;
        saved_.reset();
        if (content->preamble.state != SavedPage::State::none && content->preamble.part == part_)
            saved_ = SavedPage{content->preamble.state, content->page};
    }
    return {};
}

Result<> FirstPageFile::put(const Slot& slot, std::size_t index) const {
    const auto put =
        ::pwrite(fd_.get(), slot.data(), slot.size(), static_cast<off_t>(index * slot_size));
    if (put != static_cast<ssize_t>(slot.size()))
        return page_failure("write", name_, put < 0 ? errno : ENOSPC);
    if (::fdatasync(fd_.get()) != 0)
        return page_failure("make durable", name_, errno);
    return {};
}

Result<> FirstPageFile::save(SavedPage::State state, const PoolHeader& page) {
    const std::size_t other = 1 - slot_;
    const Slot slot = encode_page({.preamble = {.magic = slot_magic,
                                                .sequence = sequence_ + 1,
                                                .state = state,
                                                .reserved = 0,
                                                .part = part_,
                                                .checksum = 0},
                                   .page = page});
    if (auto done = put(slot, other); !done) {
        // Otherwise a later session could read a slot from the page cache that is not durable.
        static_cast<void>(put(Slot{}, other));
        return done;
    }
    slot_ = other;
    ++sequence_;
    saved_ = state == SavedPage::State::none ? std::nullopt : std::optional(SavedPage{state, page});
    return {};
}

} // namespace rpmem::target
