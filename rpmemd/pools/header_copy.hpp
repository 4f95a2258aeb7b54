// SPDX-License-Identifier: BSD-3-Clause
// A copy of a pool's headers that lies outside of its parts: the old headers and the new, while
// they are written. A header that a kill or a loss of power has torn is restored from it.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/pool_header.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// As many headers in the one as in the other, at least 1, one for each part that has one.
struct HeaderCopy {
    std::vector<PoolHeader> before;
    std::vector<PoolHeader> after;
};

// As a file, with a checksum over all of it.
std::vector<std::byte> encode(const HeaderCopy& copy);
// EINVAL. Bytes behind the copy are passed over: an older one was longer.
Result<HeaderCopy> decode_header_copy(std::span<const std::byte> bytes);

// The file of one pool set. It is open, and has its space, before a session gives up the right to
// open files. Therefore it is overwritten in place: headers are only written while it is whole, and
// it is only written while they are.
class HeaderCopyFile {
public:
    // In DIRECTORY; made (0600, its name durable) if it is not there. POOL_SET is the absolute path
    // of the pool set file, which the file is named after; COUNT the number of headers.
    static Result<HeaderCopyFile> open(int directory, const std::filesystem::path& pool_set,
                                       std::size_t count);
    static std::string name_for(const std::filesystem::path& pool_set);
    // As the first release named it; open() renames such a file.
    static std::string old_name_for(const std::filesystem::path& pool_set);
    // When the pool is gone. One that stays restores nothing: it fits no other headers.
    static void remove(int directory, const std::filesystem::path& pool_set);

    [[nodiscard]] Result<> save(const HeaderCopy& copy) const; // durable on return
    // Nothing: none was saved. EINVAL: it is cut off, or no copy.
    [[nodiscard]] Result<std::optional<HeaderCopy>> load() const;

private:
    HeaderCopyFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

    UniqueFd fd_;
    std::string name_;
};

} // namespace rpmem::target
