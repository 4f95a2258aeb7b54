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
inline constexpr std::size_t max_record_text = 256;

// SHA-256 of a takeover key: its owner may take over the session's pool. All zeros: nobody may.
using Owner = transport::Digest;

// The initiator, for people. printable() text.
struct InitiatorName {
    std::string host{};
    std::string user{};
    std::string address{}; // the source of its ssh
    bool operator==(const InitiatorName&) const = default;
};

struct SessionRecord {
    Owner owner{};
    std::uint64_t generation = 0; // see wire::LoginRequest
    InitiatorName initiator;
    std::string pool_set; // for people; empty: there is none yet
    std::string part;     // path of its first part; empty: there is none yet, or it is too long
    transport::Digest pool_set_key{}; // of its path; zeros: likewise
    std::int64_t since = 0;           // seconds since the epoch
    bool read_only = false;           // it writes to no pool
    bool operator==(const SessionRecord&) const = default;
};

// A random name of a pool, made with its first record. A copy of the pool keeps it.
using PoolId = std::array<std::byte, 16>;

// What a pool knows about itself: its identity and the claim of its last writer. Without a record
// the pool has no writer. PoolRecordPlace keeps it.
struct PoolRecord {
    PoolId id{};
    // Number of sessions of generation 0 that have opened the pool for writing. One initiator
    // writes under one epoch.
    std::uint64_t epoch = 0;
    Owner owner{}; // of the claim
    std::uint64_t generation = 0;
    InitiatorName initiator{};   // for people, at most max_claim_text of each name
    transport::Digest parts{};   // the identity of their files
    transport::Digest headers{}; // zeros: they were about to be changed
    std::int64_t since = 0;      // seconds since the epoch; the claim
    bool closed = false;         // the claim ended by a successful CLOSE
    // The pool may lack writes of its initiators: a claim that began then was not closed, and
    // another one followed it. Later closes do not clear this. 0: no such claim.
    std::int64_t behind_since = 0;
    std::string failure{}; // of the medium, for people; empty: none is known

    bool operator==(const PoolRecord&) const = default;
};

// Longer texts would need too much of the room for attributes, see pools/pool_attribute.hpp.
inline constexpr std::size_t max_claim_text = 64;
inline constexpr std::size_t max_failure_text = 128;

// Longer paths of a part do not fit into a slot.
inline constexpr std::size_t max_part_path = 1024;

// The value of the attribute of a pool.
[[nodiscard]] Result<std::string> encode_attribute(const PoolRecord& record);
// EBADMSG: damaged. ENOTSUP: written by a later version, which knows things about the pool that
// this one would lose.
[[nodiscard]] Result<PoolRecord> decode_attribute(std::string_view value);

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

// FILE is all of a file. Nothing: nobody has written to it. EBADMSG if no slot can be read, ENOTSUP
// if one was written by a later version.
template <typename Record>
[[nodiscard]] Result<std::optional<NewestRecord<Record>>> decode_file(std::string_view file);

} // namespace rpmem::target
