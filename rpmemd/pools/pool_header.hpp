// SPDX-License-Identifier: BSD-3-Clause
// The header page at the start of a part, as it is on media.
#pragma once

#include "common/base/result.hpp"
#include "common/pools/pool_set_file.hpp"

#include <librpmem.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

inline constexpr std::size_t header_size = 4096;

using Uuid = std::array<unsigned char, RPMEM_POOL_HDR_UUID_LEN>;

namespace feature {
inline constexpr std::uint32_t compat_check_bad_blocks = 0x1;
inline constexpr std::uint32_t incompat_single_header = 0x1;
inline constexpr std::uint32_t incompat_checksum_2k = 0x2;
inline constexpr std::uint32_t incompat_shutdown_state = 0x4;
} // namespace feature

// How the program that made the pool lays out its data.
struct ArchFlags {
    std::uint64_t alignment_descriptor;
    std::uint8_t machine_class;
    std::uint8_t data;
    std::array<std::uint8_t, 4> reserved;
    std::uint16_t machine;
};
static_assert(sizeof(ArchFlags) == RPMEM_POOL_USER_FLAGS_LEN);

// Tells whether the devices lost power while the pool was open; see shutdown_state.hpp.
struct ShutdownState {
    std::uint64_t unsafe_shutdown_count;
    std::uint64_t device_uuid;
    std::uint8_t dirty;
    std::array<std::uint8_t, 39> reserved;
    std::uint64_t checksum;
};
static_assert(sizeof(ShutdownState) == 64);

struct PoolHeader {
    std::array<char, RPMEM_POOL_HDR_SIG_LEN> signature;
    std::uint32_t major;
    std::uint32_t compat_features;
    std::uint32_t incompat_features;
    std::uint32_t ro_compat_features;
    Uuid poolset_uuid;
    Uuid uuid;
    Uuid previous_part_uuid;
    Uuid next_part_uuid;
    Uuid previous_replica_uuid;
    Uuid next_replica_uuid;
    std::uint64_t creation_time; // seconds since the epoch
    ArchFlags arch_flags;
    std::array<std::byte, 1904> unused;
    std::array<std::byte, 1976> unused_2k; // outside the checksum with incompat_checksum_2k
    ShutdownState shutdown_state;          // of the whole pool, in the header of its first part
    std::uint64_t checksum;
};
static_assert(sizeof(PoolHeader) == header_size);
static_assert(offsetof(PoolHeader, poolset_uuid) == 24);
static_assert(offsetof(PoolHeader, uuid) == 40);
static_assert(offsetof(PoolHeader, previous_part_uuid) == 56);
static_assert(offsetof(PoolHeader, previous_replica_uuid) == 88);
static_assert(offsetof(PoolHeader, creation_time) == 120);
static_assert(offsetof(PoolHeader, arch_flags) == 128);
static_assert(offsetof(PoolHeader, unused_2k) == 2048);
static_assert(offsetof(PoolHeader, shutdown_state) == 4024);
static_assert(offsetof(PoolHeader, checksum) == 4088);

// Of the machine this runs on.
ArchFlags machine_arch_flags();

Uuid random_uuid();

bool is_all_zero(std::span<const std::byte> bytes);
bool is_all_zero(const rpmem_pool_attr& attributes);
bool is_all_zero(const PoolHeader& header);

std::uint64_t header_checksum(const PoolHeader& header);
void seal(PoolHeader& header); // sets the checksum

// One sealed header for each of UUIDS: the first part's UUID comes from ATTRIBUTES, whatever
// UUIDS[0] says. All-zero user flags become those of this machine.
std::vector<PoolHeader> build_headers(const rpmem_pool_attr& attributes,
                                      std::span<const Uuid> uuids, std::uint64_t creation_time);

// As build_headers() for a pool that exists: creation times, UUIDS of parts but the first, and
// the shutdown state remain.
std::vector<PoolHeader> rewrite_headers(std::span<const PoolHeader> headers,
                                        const rpmem_pool_attr& attributes);

rpmem_pool_attr attributes_of(const PoolHeader& first_header);

// Can a pool set with this layout have these attributes? EINVAL if not.
Result<> check_attributes(const rpmem_pool_attr& attributes, HeaderLayout layout);

// EINVAL unless there is a header, with a right checksum. NAME is that of the part.
Result<> verify_alone(const PoolHeader& header, const std::string& name);

// EINVAL unless checksums are right and HEADERS belong together, in this order. NAMES are those of
// the parts, for messages.
Result<> verify_headers(std::span<const PoolHeader> headers, std::span<const std::string> names,
                        HeaderLayout layout);

} // namespace rpmem::target
