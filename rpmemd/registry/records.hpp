// SPDX-License-Identifier: BSD-3-Clause
// The records of sessions and pools, and their encoding. No input or output. A file of state-dir
// has two slots. A writer overwrites the older one, so the other one stays readable if the write is
// interrupted. A slot is a line of text (a checksum, a blank, a JSON object), padded with NULs.
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

// A multiple of the blocks of all devices, so that a torn write damages one slot only.
inline constexpr std::size_t slot_size = 4096;
inline constexpr std::size_t state_file_size = 2 * slot_size;

// Maximum length of a text for display. Longer ones are cut.
inline constexpr std::size_t max_record_text = 256;

// SHA-256 of a takeover key. Whoever has the key may take over the pool of the session. All zeros
// if nobody may.
using Owner = transport::Digest;

// The names of the initiator for display, converted by printable().
struct InitiatorName {
    std::string host{};
    std::string user{};
    std::string address{}; // source address of the ssh connection
    bool operator==(const InitiatorName&) const = default;
};

struct SessionRecord {
    Owner owner{};
    std::uint64_t generation = 0; // see wire::LoginRequest
    InitiatorName initiator;
    std::string pool_set; // for display; empty if the session has no pool yet
    std::string part;     // path of the first part; empty without a pool, or if it is too long
    transport::Digest pool_set_key{}; // hash of the path of the pool set; zeros without a pool
    std::int64_t since = 0;           // seconds since the epoch
    bool read_only = false;           // the session does not write
    bool operator==(const SessionRecord&) const = default;
};

// The random identity of a pool, generated with its first record. A copy of the pool has the same.
using PoolId = std::array<std::byte, 16>;

// The record of a pool: its identity and the claim of its last writer. A pool without a record has
// had no writer. PoolRecordPlace stores it.
struct PoolRecord {
    PoolId id{};
    // Increases with each claim that does not resume an earlier one.
    std::uint64_t epoch = 0;
    Owner owner{}; // owner of the claim
    std::uint64_t generation = 0;
    InitiatorName initiator{};   // for display; each name has at most max_claim_text bytes
    transport::Digest parts{};   // hash of the identities of the part files
    transport::Digest headers{}; // hash of the headers; zeros while a change is unfinished
    std::int64_t since = 0;      // start of the claim in seconds since the epoch
    bool closed = false;         // the claim ended with a successful CLOSE, or without a write
    // Start of the first claim that was not closed before another one followed, so the pool may
    // lack writes. Later closes do not clear it: see actions/mark_action.cpp. 0 if there is no such
    // claim.
    std::int64_t behind_since = 0;
    std::string failure{}; // failure of the medium, for display; empty if none is known
    // Epoch of the last claim that may have changed the pool. A claim counts as one until its
    // session is closed without a write, such as one of `pmempool info`.
    std::uint64_t written_epoch = 0;
    // Start of a transfer of blocks in any order. The replica is inconsistent until the transfer
    // ends. 0 if there is none.
    std::int64_t catching_up_since = 0;
    // Start of the first claim whose initiator could go on without this replica. Cleared when a
    // claim is closed and the replica lacks nothing, or when it was made equal or was accepted. 0
    // if there is none.
    std::int64_t alone_since = 0;
    // Epoch that an operator of this machine made by accepting this copy as it was. An initiator
    // whose last claim is older has other bytes. 0 if there is none.
    std::uint64_t accepted_epoch = 0;
    // When a part was last modified, as the last session left it, in nanoseconds since the epoch. A
    // program that does not write the record, such as rpmemd 1.12.1, shows by that. 0 if unknown,
    // as long as a session has the pool.
    std::int64_t modified = 0;
    // Epoch of a later claim that was released, because its session cannot have written. No other
    // claim gets it: its initiator may have recorded it as its own. 0 if there is none.
    std::uint64_t released_epoch = 0;

    bool operator==(const PoolRecord&) const = default;
};

// Whether RECORD has fields that an older version must not lose.
[[nodiscard]] inline bool has_states(const PoolRecord& record) {
    return record.catching_up_since != 0 || record.alone_since != 0 || record.accepted_epoch != 0;
}

// Returns a text that identifies the claim of RECORD among all claims on all pools:
// "ID-EPOCH-GENERATION".
[[nodiscard]] std::string claim_text(const PoolRecord& record);

// Limits in bytes. The room for attributes is small, see rpmemd/pools/files/pool_attribute.hpp.
inline constexpr std::size_t max_claim_text = 64;
inline constexpr std::size_t max_failure_text = 128;

// Longer paths of a part do not fit into a slot.
inline constexpr std::size_t max_part_path = 1024;

// Returns the value of the extended attribute.
[[nodiscard]] Result<std::string> encode_attribute(const PoolRecord& record);
// Fails with EBADMSG if VALUE is damaged or has an earlier format. Fails with ENOTSUP if it has a
// later one, whose fields this version would lose.
[[nodiscard]] Result<PoolRecord> decode_attribute(std::string_view value);

using Slot = std::array<char, slot_size>;

// SEQUENCE must be greater than that of the other slot.
[[nodiscard]] Result<Slot> encode_slot(const SessionRecord& record, std::uint64_t sequence);
[[nodiscard]] Result<Slot> encode_slot(const PoolRecord& record, std::uint64_t sequence);

template <typename Record>
struct NewestRecord {
    Record record;
    std::uint64_t sequence = 0;
    std::size_t slot = 0;
};

// FILE is the content of a whole file. Returns nothing if no record was written yet. Fails with
// EBADMSG if no slot is valid, and with ENOTSUP if a later version wrote one.
template <typename Record>
[[nodiscard]] Result<std::optional<NewestRecord<Record>>> decode_file(std::string_view file);

} // namespace rpmem::target
