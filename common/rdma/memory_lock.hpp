// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process may lock. Devices for RDMA need what they use locked, and the kernel
// counts it against RLIMIT_MEMLOCK of the process.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace rpmem::rdma {

// In bytes.
struct LockLimit {
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
    std::uint64_t used = 0; // pinned already, by whatever part of the process
    bool exempt = false;    // CAP_IPC_LOCK, of which the kernel takes notice: no limit counts
    std::uint64_t page = 1; // memory is locked in pages of this size
};

enum class LockVerdict {
    fits,
    fits_if_raised, // below the hard limit, which everybody may raise the soft one to
    too_much,
};

LockLimit read_lock_limit();

// Whether SIZE bytes at ADDRESS may be locked on top of what is.
LockVerdict judge_lock(const LockLimit& limit, std::uint64_t address, std::uint64_t size);

// For people: both numbers, and what to write where. USER is who needs more.
std::string explain_lock_limit(const LockLimit& limit, std::uint64_t address, std::uint64_t size,
                               const std::string& user);

// The name of the user whose limit counts, or the number if there is no name.
std::string name_of_user();

// Raises the soft limit if that is what it takes. ENOMEM with the explanation if SIZE bytes at
// ADDRESS are too much.
Result<LockVerdict> make_room_to_lock(const void* address, std::uint64_t size);

} // namespace rpmem::rdma
