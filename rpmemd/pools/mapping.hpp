// SPDX-License-Identifier: BSD-3-Clause
// A pool in memory: one contiguous range, every part mapped shared over its share of it.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "common/pools/part_layout.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/pools/header_copy.hpp"
#include "rpmemd/pools/part_file.hpp"
#include "rpmemd/pools/pool_header.hpp"
#include "rpmemd/pools/shutdown_state.hpp"

#include <librpmem.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

struct StoreOptions;

// A range of addresses that is unmapped at the end, whatever was mapped over it.
class Reservation {
public:
    Reservation() = default;
    // ALIGNMENT is a power of 2.
    static Result<Reservation> make(std::size_t size, std::size_t alignment);

    [[nodiscard]] std::byte* address() const { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return memory_ ? memory_.get_deleter().size : 0; }
    void release() { memory_.reset(); }

private:
    Reservation(std::byte* address, std::size_t size) : memory_(address, {size}) {}
    MappedMemory memory_;
};

struct MappedPool {
    std::string name;
    bool read_only = false; // nothing may be written to the parts
    HeaderLayout header_layout = HeaderLayout::every_part;
    std::vector<PartFile> parts; // open, which keeps them locked
    Reservation memory;
    Medium medium; // of the memory

    std::vector<PoolHeader> headers;           // as on media, one for each part that has one
    std::optional<HeaderCopyFile> header_copy; // keeps them while they are written
    rpmem_pool_attr attributes{};              // all zero without headers
    DeviceState devices;
    // Their state, if they were asked in advance: see Pool::prepare_confinement().
    std::optional<Result<DeviceState>> asked_devices;
    Log log;
};

// Maps PARTS as LAYOUT says.
struct Mapping {
    Reservation memory;
    Medium medium;
    std::vector<bool> on_pmem; // each part
};
Result<Mapping> map_parts(const std::vector<PartFile>& parts, const PartLayout& layout);

// Opens the file for a copy of the COUNT headers in the session that begins: none without a
// directory for it, or without headers. If the file cannot be used, the log has a warning, no more.
void open_header_copy(const StoreOptions& options, std::size_t count, MappedPool& pool);

// Before the headers are written, from what they are (BEFORE) to what POOL has.
void keep_header_copy(const MappedPool& pool, std::vector<PoolHeader> before);

// Writes those of POOL to the parts that have one, that of part 0 last, each durable before the
// next: that of part 0 decides which attributes the pool has.
Result<> write_headers(const MappedPool& pool);

bool keeps_shutdown_state(const MappedPool& pool);

// Says on media that the pool is open (DIRTY), or closed; nothing for a pool that keeps no state.
Result<> write_shutdown_state(MappedPool& pool, bool dirty);

} // namespace rpmem::target
