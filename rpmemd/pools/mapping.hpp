// A pool in memory: one contiguous range, every part mapped shared over its share of it.
#pragma once

#include "common/base/log.hpp"
#include "common/base/result.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/pools/part_file.hpp"
#include "rpmemd/pools/part_layout.hpp"
#include "rpmemd/pools/pool_header.hpp"
#include "rpmemd/pools/shutdown_state.hpp"

#include <librpmem.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::target {

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

    std::vector<PoolHeader> headers; // as on media, one for each part that has one
    rpmem_pool_attr attributes{};    // all zero without headers
    DeviceState devices;
    // What they say, if they were asked in advance: see Pool::prepare_confinement().
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

// Writes HEADERS to the parts that have one; durable on return. MEDIUM: that of the parts, if they
// are mapped and in use.
Result<> write_headers(const std::vector<PartFile>& parts, const std::vector<PoolHeader>& headers,
                       const Medium* medium = nullptr);

bool keeps_shutdown_state(const MappedPool& pool);

// Says on media that the pool is open (DIRTY), or closed; nothing for a pool that keeps no state.
Result<> write_shutdown_state(MappedPool& pool, bool dirty);

} // namespace rpmem::target
