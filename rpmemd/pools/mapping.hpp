// SPDX-License-Identifier: BSD-3-Clause
// A pool in memory: one contiguous range of addresses, over which the parts are mapped.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "common/pools/part_layout.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/pools/headers/first_page.hpp"
#include "rpmemd/pools/headers/header_copy.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "rpmemd/pools/headers/shutdown_state.hpp"

#include <librpmem.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

struct PoolOptions;

// A reserved range of addresses. The destructor unmaps all of it, including later mappings in it.
class Reservation {
public:
    Reservation() = default;
    // ALIGNMENT is a power of 2 and at least a page.
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
    std::vector<PartFile> parts; // locked while they are open
    Reservation memory;
    Medium medium;

    std::vector<PoolHeader> headers;           // one for each part that has a header
    std::optional<HeaderCopyFile> header_copy; // keeps them while they are overwritten
    // Null if the first page of this pool is never hidden, see hidden_page.hpp.
    std::unique_ptr<FirstPageFile> first_page;
    bool is_hidden = false;
    rpmem_pool_attr attributes{}; // all zero without headers
    DeviceState devices;          // set if the pool keeps a shutdown state
    // What Pool::prepare_confinement() has read in advance.
    std::optional<Result<DeviceState>> asked_devices;
    Log log;
};

struct Mapping {
    Reservation memory;
    Medium medium;
    std::vector<bool> on_pmem; // one for each part
};
// Maps PARTS according to LAYOUT. Fails with EINVAL if a Device DAX cannot be mapped there.
Result<Mapping> map_parts(const std::vector<PartFile>& parts, const PartLayout& layout);

// Opens the file for a copy of COUNT headers. Does nothing without a directory for it or without
// headers. If the file cannot be used, only logs a warning. Fails with ENOTSUP if a later version
// has written the file.
Result<> open_header_copy(const PoolOptions& options, std::size_t count, MappedPool& pool);

// Saves two sets of headers in the copy: BEFORE, which the medium has now, and those of POOL. Call
// it before the headers of POOL are written to the parts. On failure only logs a warning.
void keep_header_copy(const MappedPool& pool, std::vector<PoolHeader> before);

// Writes the headers of POOL, each durable before the next. The header of part 0 is last, because
// it decides which attributes the pool has.
Result<> write_headers(const MappedPool& pool);

bool keeps_shutdown_state(const MappedPool& pool);

// Marks the pool on the medium as open (DIRTY) or closed. Does nothing if it keeps no state.
Result<> write_shutdown_state(MappedPool& pool, bool dirty);

} // namespace rpmem::target
