// SPDX-License-Identifier: BSD-3-Clause
// The limit on locked memory. An RDMA device needs locked memory, which the kernel counts against
// RLIMIT_MEMLOCK of the process.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace rpmem::rdma {

// All sizes are in bytes.
struct LockLimit {
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
    std::uint64_t used = 0; // bytes that this process has pinned already
    bool exempt = false;    // CAP_IPC_LOCK lifts the limit
    std::uint64_t page = 1; // page size
};

enum class LockVerdict {
    fits,
    fits_if_raised, // after the soft limit is raised, which is possible up to the hard limit
    too_much,
};

LockLimit read_lock_limit();

// Returns whether SIZE bytes at ADDRESS may be locked in addition to the used bytes.
LockVerdict judge_lock(const LockLimit& limit, std::uint64_t address, std::uint64_t size);

// Returns a text with the size, the limit, and how to raise it for USER.
std::string explain_lock_limit(const LockLimit& limit, std::uint64_t address, std::uint64_t size,
                               const std::string& user);

// Returns the name of the user to whom the limit applies, or the user ID if it has no name.
std::string name_of_user();

// Raises the soft limit if necessary. Fails with ENOMEM and the explanation if SIZE bytes at
// ADDRESS exceed the hard limit.
Result<LockVerdict> make_room_to_lock(const void* address, std::uint64_t size);

} // namespace rpmem::rdma
