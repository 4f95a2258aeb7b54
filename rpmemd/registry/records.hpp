// SPDX-License-Identifier: BSD-3-Clause
// The contents of the files of state-dir, and their bytes. Pure: no input or output. A file has two
// slots. A writer replaces the older one, so that the other one can be read whatever happens
// meanwhile. A slot is a line of text (a checksum, a blank, a JSON object) and NULs behind it.
#pragma once

#include "common/base/result.hpp"
#include "common/transport/crypto.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rpmem::target {

inline constexpr std::size_t slot_size = 4096; // no device writes less than half of it at once
inline constexpr std::size_t state_file_size = 2 * slot_size;

// Of a text for people: longer ones are cut.
inline constexpr std::size_t most_record_text = 256;

// SHA-256 of a takeover key: its owner may take over the session's pool. All zeros: nobody may.
using Owner = transport::Digest;

// The initiator, for people. printable() text.
struct InitiatorName {
    std::string host{};
    std::string user{};
    std::string address{}; // the source of its ssh
    bool operator==(const InitiatorName&) const = default;
};

// Of a daemon: enough never to take another process for it.
struct ProcessIdentity {
    std::uint64_t pid = 0;
    std::uint64_t start_time = 0; // field 22 of /proc/PID/stat
    std::string machine;          // the boot of the machine, and the namespace of the pid
    bool operator==(const ProcessIdentity&) const = default;
};

struct SessionRecord {
    ProcessIdentity daemon;
    Owner owner{};
    std::uint64_t generation = 0; // see wire::LoginRequest
    InitiatorName initiator;
    std::string pool_set;             // for people; empty: there is none yet
    transport::Digest pool_set_key{}; // of its path; zeros: likewise
    std::int64_t since = 0;           // seconds since the epoch
    bool read_only = false;           // it writes to no pool
    bool operator==(const SessionRecord&) const = default;
};

// The last session that could write to a pool.
struct PoolRecord {
    Owner owner{};
    std::uint64_t generation = 0;
    InitiatorName initiator;
    std::string pool_set;        // for people
    transport::Digest parts{};   // the identity of their files
    transport::Digest headers{}; // zeros: they were about to be changed
    std::int64_t since = 0;      // seconds since the epoch
    bool closed = false;         // it ended by a successful CLOSE
    bool operator==(const PoolRecord&) const = default;
};

using Slot = std::array<char, slot_size>;

// SEQUENCE: higher than that of the other slot.
[[nodiscard]] Result<Slot> encode_slot(const SessionRecord& record, std::uint64_t sequence);
[[nodiscard]] Result<Slot> encode_slot(const PoolRecord& record, std::uint64_t sequence);

template <typename Record>
struct NewestRecord {
    Record record;
    std::uint64_t sequence = 0;
    std::size_t slot = 0;
};

// FILE is all of a file. Nothing: nobody has written to it. EBADMSG if no slot can be read.
template <typename Record>
[[nodiscard]] Result<std::optional<NewestRecord<Record>>> decode_file(std::string_view file);

} // namespace rpmem::target
