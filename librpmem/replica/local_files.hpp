// SPDX-License-Identifier: BSD-3-Clause
// The files that are mapped at the pool's memory in this process.
#pragma once

#include "common/base/lasting_identity.hpp"
#include "common/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

struct LocalFile {
    LastingIdentity identity;
    std::int64_t modified = 0; // mtime in nanoseconds since the epoch
    std::string path{};        // for display

    bool operator==(const LocalFile& other) const {
        return identity == other.identity && modified == other.modified;
    }
};

// Returns the identity of a regular file, as in LocalFile. Returns nothing if it cannot be
// examined.
[[nodiscard]] std::optional<LastingIdentity> local_identity(int fd);

// Returns the file of FD, whose path is PATH. Returns nothing if it cannot be examined.
[[nodiscard]] std::optional<LocalFile> local_file(int fd, std::string path);

// Records of more files are not kept.
inline constexpr std::size_t max_local_files = 1024;

// Returns the files in the order of their addresses, each once. Fails with ENOTSUP if a part of
// MEMORY is not a shared mapping of a regular file: a private mapping or anonymous memory vanishes
// with this process, and a Device DAX has no mtime. Fails with the errno value of a file that
// cannot be opened, and with ESTALE if another file has its path now.
[[nodiscard]] Result<std::vector<LocalFile>> local_files(std::span<const std::byte> memory);

// Whether MEMORY maps one of FILES. Returns true if that cannot be found out.
[[nodiscard]] bool maps_one_of(std::span<const std::byte> memory,
                               const std::vector<LocalFile>& files);

} // namespace rpmem::initiator
