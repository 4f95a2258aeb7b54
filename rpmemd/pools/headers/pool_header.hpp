// SPDX-License-Identifier: BSD-3-Clause
// The header page at the start of a part, as it is on the medium.
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

// The machine for which the pool was created.
struct ArchFlags {
    std::uint64_t alignment_descriptor;
    std::uint8_t machine_class;
    std::uint8_t data;
    std::array<std::uint8_t, 4> reserved;
    std::uint16_t machine;
};
static_assert(sizeof(ArchFlags) == RPMEM_POOL_USER_FLAGS_LEN);

// Shows whether the devices lost power while the pool was open; see shutdown_state.hpp.
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
    std::array<std::byte, 1976> unused_2k; // incompat_checksum_2k excludes the bytes from here on
    ShutdownState shutdown_state;          // state of the whole pool, in the first header only
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

ArchFlags machine_arch_flags();

Uuid random_uuid();

bool is_all_zero(std::span<const std::byte> bytes);
bool is_all_zero(const rpmem_pool_attr& attributes);
bool is_all_zero(const PoolHeader& header);

std::uint64_t header_checksum(const PoolHeader& header);
void seal(PoolHeader& header); // sets the checksum

// Returns one sealed header for each of UUIDS. The UUID of the first part comes from ATTRIBUTES
// instead of UUIDS[0]. All-zero user flags are replaced by machine_arch_flags().
std::vector<PoolHeader> build_headers(const rpmem_pool_attr& attributes,
                                      std::span<const Uuid> uuids, std::uint64_t creation_time);

// Like build_headers(), but for an existing pool: keeps the creation times, the UUIDs of all parts
// except the first, and the shutdown state.
std::vector<PoolHeader> rewrite_headers(std::span<const PoolHeader> headers,
                                        const rpmem_pool_attr& attributes);

rpmem_pool_attr attributes_of(const PoolHeader& first_header);

// Fails with EINVAL if a pool set with this layout cannot have these attributes: the attributes are
// all zero although there are headers, or vice versa, or SINGLEHDR is only in one of them.
Result<> check_attributes(const rpmem_pool_attr& attributes, HeaderLayout layout);

// Fails with EINVAL if HEADER is all zero or its checksum is wrong. NAME is the name of the part.
Result<> verify_alone(const PoolHeader& header, const std::string& name);

// Fails with EINVAL if verify_alone() does, if HEADERS do not belong to one pool in this order, or
// if they do not suit LAYOUT. NAMES are the names of the parts.
Result<> verify_headers(std::span<const PoolHeader> headers, std::span<const std::string> names,
                        HeaderLayout layout);

} // namespace rpmem::target
