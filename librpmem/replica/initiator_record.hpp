// SPDX-License-Identifier: BSD-3-Clause
// The record of a pool at the initiator: which session wrote to it last, and from which files. The
// target has a record, too (rpmemd/registry/records.hpp). Together they prove that the memory of
// this machine is at least as new as the replica. One file per pool in $XDG_STATE_HOME/librpmem.
#pragma once

#include "common/base/result.hpp"
#include "librpmem/replica/local_files.hpp"

#include <librpmem.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rpmem::initiator {

struct InitiatorRecord {
    std::array<std::byte, 16> pool{}; // the identity that the target has given to the pool
    std::uint64_t epoch = 0;          // epoch of the last claim whose session wrote
    // Epoch of the last claim with a proof, possibly of a session that did not write.
    std::uint64_t opened_epoch = 0;
    std::vector<LocalFile> files; // the files behind the memory when the session began to write

    // What rpmem_set_attr() was given while the replica was away: the bytes of an rpmem_pool_attr.
    std::optional<std::array<std::byte, sizeof(rpmem_pool_attr)>> attributes{};

    bool operator==(const InitiatorRecord&) const = default;
};

// Larger files are invalid.
inline constexpr std::size_t max_record_size = std::size_t{256} * 1024;

[[nodiscard]] std::string encode(const InitiatorRecord& record);
// Accepts any bytes. Fails with EBADMSG if TEXT is not a record, and with ENOTSUP if a later
// version wrote it.
[[nodiscard]] Result<InitiatorRecord> decode_initiator_record(std::string_view text);

// A value type: a path. The functions may block as long as the file system does.
class InitiatorRecordFile {
public:
    // STATE_HOME is $XDG_STATE_HOME or its default. If it is empty, there is no file, and read()
    // and write() fail with ENOENT.
    InitiatorRecordFile(const std::string& state_home, const std::array<std::byte, 16>& pool);

    [[nodiscard]] const std::string& path() const { return path_; }
    // Returns nothing if there is no file. Fails with EACCES if the file belongs to another user or
    // others may write to it, and like decode_initiator_record().
    [[nodiscard]] Result<std::optional<InitiatorRecord>> read() const;
    // Replaces the file, durably. Creates the directory if it is missing.
    [[nodiscard]] Result<> write(const InitiatorRecord& record) const;
    // Removes the file, durably. It need not exist.
    [[nodiscard]] Result<> erase() const;

private:
    std::string directory_;
    std::string path_;
};

} // namespace rpmem::initiator
