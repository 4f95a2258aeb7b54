// SPDX-License-Identifier: BSD-3-Clause
// The messages on a lane of protocol 0.1, in host byte order and with natural alignment. Inline
// data may follow a persist message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rpmem::wire {

// The low bits of the flags of a persist message.
inline constexpr std::uint32_t persist_mode_mask = 0x3;

enum class PersistMode : std::uint32_t {
    persist_written = 0, // make a range durable that was written by RDMA WRITE
    deep_persist = 1,    // the same, down to the lowest persistence domain
    inline_data = 2,     // copy the data that follows the message to addr, and make it durable
};

struct PersistMessage {
    std::uint32_t flags;
    std::uint32_t lane; // index of the lane in the order of connection
    std::uint64_t addr; // virtual address on the target
    std::uint64_t size;
};

struct PersistResponse {
    std::uint32_t flags;
    std::uint32_t lane;
};

// Maximum bytes of data in one message, as in PMDK 1.12.1. A lane has one message in progress.
inline constexpr std::size_t inline_size_of_0_1 = 8192;

static_assert(sizeof(PersistMessage) == 24 && std::is_trivially_copyable_v<PersistMessage>);
static_assert(offsetof(PersistMessage, flags) == 0 && offsetof(PersistMessage, lane) == 4);
static_assert(offsetof(PersistMessage, addr) == 8 && offsetof(PersistMessage, size) == 16);
static_assert(sizeof(PersistResponse) == 8 && std::is_trivially_copyable_v<PersistResponse>);
static_assert(offsetof(PersistResponse, flags) == 0 && offsetof(PersistResponse, lane) == 4);

} // namespace rpmem::wire
