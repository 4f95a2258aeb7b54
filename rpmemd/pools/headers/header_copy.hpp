// SPDX-License-Identifier: BSD-3-Clause
// A copy of the headers of a pool, outside of its parts. It has the old and the new headers while
// these are being written. A header that was torn by a kill or a power failure is restored from it.
#pragma once

#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

// Both vectors have one header for each part that has a header, and at least one.
struct HeaderCopy {
    std::vector<PoolHeader> before;
    std::vector<PoolHeader> after;
};

// Returns the contents of the file, with a checksum over all of it.
std::vector<std::byte> encode(const HeaderCopy& copy);
// Fails with EINVAL if BYTES are no valid copy. Ignores further bytes, because an older copy in the
// file may have been longer.
Result<HeaderCopy> decode_header_copy(std::span<const std::byte> bytes);

// The file with the copy for a pool set. It is opened and allocated before the session is confined,
// because a confined process cannot open files. Therefore it is overwritten in place. Either the
// headers or this copy is intact at any moment.
class HeaderCopyFile {
public:
    // Opens the file in DIRECTORY. Creates it with mode 0600 and a durable name if it is missing.
    // POOL_SET is the absolute path of the pool set file, from which the name is derived. COUNT is
    // the number of headers. Fails with EINVAL if the name is not a regular file, with ENOTSUP if
    // a later version has written the file, and with the errno value of the system.
    static Result<HeaderCopyFile> open(int directory, const std::filesystem::path& pool_set,
                                       std::size_t count);
    static std::string name_for(const std::filesystem::path& pool_set);
    // Returns the name that the first release used. open() renames such a file.
    static std::string old_name_for(const std::filesystem::path& pool_set);
    // Removes the file after its pool was removed. A file that remains does no harm: it matches no
    // other headers.
    static void remove(int directory, const std::filesystem::path& pool_set);

    [[nodiscard]] Result<> save(const HeaderCopy& copy) const; // durable on return
    // Returns nothing if no copy was saved. Fails like decode_header_copy() and pread(2).
    [[nodiscard]] Result<std::optional<HeaderCopy>> load() const;

private:
    HeaderCopyFile(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

    UniqueFd fd_;
    std::string name_;
};

} // namespace rpmem::target
