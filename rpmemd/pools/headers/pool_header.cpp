// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/pools/headers/pool_header.hpp"

#include "common/base/hex.hpp"
#include "common/pools/checksum.hpp"

#include <elf.h>
#include <sys/types.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace rpmem::target {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are used as they are on media");

template <typename Type>
constexpr std::uint64_t alignment_digit() {
    return alignof(Type) - 1;
}

// Returns four bits for each type, with the first type in the lowest bits.
template <typename... Types>
constexpr std::uint64_t describe_alignment() {
    std::uint64_t descriptor = 0;
    unsigned shift = 0;
    ((descriptor |= alignment_digit<Types>() << shift, shift += 4), ...);
    return descriptor;
}

constexpr std::uint16_t elf_machine() {
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#elif defined(__powerpc64__)
    return EM_PPC64;
#elif defined(__riscv)
    return EM_RISCV;
#else
#error "add the ELF machine number of this architecture"
#endif
}

template <typename To, typename From>
void copy_bytes(To& to, const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    std::memcpy(&to, &from, sizeof(to));
}

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

// Calls COPY for each attribute that is in the headers of all parts.
template <typename Header, typename Attributes, typename Copy>
void for_each_shared(Header& header, Attributes& attributes, Copy copy) {
    copy(header.signature, attributes.signature);
    copy(header.major, attributes.major);
    copy(header.compat_features, attributes.compat_features);
    copy(header.incompat_features, attributes.incompat_features);
    copy(header.ro_compat_features, attributes.ro_compat_features);
    copy(header.poolset_uuid, attributes.poolset_uuid);
    copy(header.previous_replica_uuid, attributes.prev_uuid);
    copy(header.next_replica_uuid, attributes.next_uuid);
    copy(header.arch_flags, attributes.user_flags);
}

void fill_in(PoolHeader& header, const rpmem_pool_attr& attributes) {
    for_each_shared(header, attributes, [](auto& to, const auto& from) { copy_bytes(to, from); });
    if (is_all_zero(bytes_of(attributes.user_flags)))
        header.arch_flags = machine_arch_flags();
}

void link_and_seal(std::vector<PoolHeader>& headers) {
    const auto count = headers.size();
    for (std::size_t i = 0; i < count; ++i) {
        headers[i].previous_part_uuid = headers[(i + count - 1) % count].uuid;
        headers[i].next_part_uuid = headers[(i + 1) % count].uuid;
    }
    std::ranges::for_each(headers, seal);
}

// Returns the first field that must be the same in both headers but is not, and its values. Returns
// an empty text if there is none.
std::string difference(const PoolHeader& first, const PoolHeader& other) {
    const auto features = [](const PoolHeader& header) {
        return fmt::format("{:#x} {:#x} {:#x}", header.compat_features, header.incompat_features,
                           header.ro_compat_features);
    };
    const auto replicas = [](const PoolHeader& header) {
        return hex(header.previous_replica_uuid) + " " + hex(header.next_replica_uuid);
    };
    const auto differ = [](const char* field, const auto& left, const auto& right) {
        return fmt::format("{} ({} and {})", field, left, right);
    };
    if (first.signature != other.signature)
        return differ("signature", hex(first.signature), hex(other.signature));
    if (first.major != other.major)
        return differ("major version", first.major, other.major);
    if (first.compat_features != other.compat_features ||
        first.incompat_features != other.incompat_features ||
        first.ro_compat_features != other.ro_compat_features)
        return differ("features", features(first), features(other));
    if (first.poolset_uuid != other.poolset_uuid)
        return differ("pool set UUID", hex(first.poolset_uuid), hex(other.poolset_uuid));
    if (first.previous_replica_uuid != other.previous_replica_uuid ||
        first.next_replica_uuid != other.next_replica_uuid)
        return differ("replica UUIDs", replicas(first), replicas(other));
    if (std::memcmp(&first.arch_flags, &other.arch_flags, sizeof(ArchFlags)) != 0)
        return differ("architecture flags", hex(first.arch_flags), hex(other.arch_flags));
    return {};
}

Result<> verify_links(std::span<const PoolHeader> headers, std::span<const std::string> names) {
    const auto count = headers.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto next = (i + 1) % count;
        if (headers[i].next_part_uuid != headers[next].uuid ||
            headers[next].previous_part_uuid != headers[i].uuid)
            return fail(ErrorClass::caller_fault, EINVAL,
                        "part {} (UUID {}, after {}) does not follow part {} (UUID {}, before {}) "
                        "according to their headers; does the pool set file list the parts of one "
                        "pool, all and in their order?",
                        names[next], hex(headers[next].uuid), hex(headers[next].previous_part_uuid),
                        names[i], hex(headers[i].uuid), hex(headers[i].next_part_uuid));
    }
    return {};
}

} // namespace

ArchFlags machine_arch_flags() {
    return {
        .alignment_descriptor = describe_alignment<char, short, int, long, long long, std::size_t,
                                                   off_t, float, double, long double, void*>(),
        .machine_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32,
        .data = ELFDATA2LSB,
        .reserved = {},
        .machine = elf_machine(),
    };
}

Uuid random_uuid() {
    Uuid uuid{};
    arc4random_buf(uuid.data(), uuid.size());
    // A UUID of version 4, see RFC 4122. Its third field is little-endian on the medium.
    uuid[7] = static_cast<unsigned char>((uuid[7] & 0x0f) | 0x40);
    uuid[8] = static_cast<unsigned char>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

bool is_all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_all_zero(const rpmem_pool_attr& attributes) { return is_all_zero(bytes_of(attributes)); }

bool is_all_zero(const PoolHeader& header) { return is_all_zero(bytes_of(header)); }

std::uint64_t header_checksum(const PoolHeader& header) {
    const bool only_2k = (header.incompat_features & feature::incompat_checksum_2k) != 0;
    return fletcher_checksum(bytes_of(header), offsetof(PoolHeader, checksum),
                             only_2k ? offsetof(PoolHeader, unused_2k) : header_size);
}

void seal(PoolHeader& header) { header.checksum = header_checksum(header); }

std::vector<PoolHeader> build_headers(const rpmem_pool_attr& attributes,
                                      std::span<const Uuid> uuids, std::uint64_t creation_time) {
    std::vector<PoolHeader> headers(uuids.size(), PoolHeader{});
    for (std::size_t i = 0; i < headers.size(); ++i) {
        headers[i].uuid = uuids[i];
        headers[i].creation_time = creation_time;
    }
    return rewrite_headers(headers, attributes);
}

std::vector<PoolHeader> rewrite_headers(std::span<const PoolHeader> headers,
                                        const rpmem_pool_attr& attributes) {
    std::vector<PoolHeader> result(headers.begin(), headers.end());
    if (result.empty())
        return result;
    for (auto& header : result)
        fill_in(header, attributes);
    copy_bytes(result.front().uuid, attributes.uuid);
    link_and_seal(result);
    return result;
}

rpmem_pool_attr attributes_of(const PoolHeader& first_header) {
    rpmem_pool_attr attributes{};
    for_each_shared(first_header, attributes,
                    [](const auto& from, auto& to) { copy_bytes(to, from); });
    copy_bytes(attributes.uuid, first_header.uuid);
    return attributes;
}

Result<> check_attributes(const rpmem_pool_attr& attributes, HeaderLayout layout) {
    const bool empty = is_all_zero(attributes);
    if (layout == HeaderLayout::none)
        return empty ? Result<>{}
                     : fail(ErrorClass::caller_fault, EINVAL,
                            "the pool set has OPTION NOHDRS, so the pool cannot have attributes; "
                            "pass none or remove the option");
    if (empty)
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the parts of the pool set have headers, so the pool needs attributes; pass "
                    "some or add OPTION NOHDRS to the pool set file");
    const bool single = (attributes.incompat_features & feature::incompat_single_header) != 0;
    if (single == (layout == HeaderLayout::first_part_only))
        return {};
    return single ? fail(ErrorClass::caller_fault, EINVAL,
                         "the attributes have the feature SINGLEHDR (incompat 0x1), the pool set "
                         "file lacks OPTION SINGLEHDR")
                  : fail(ErrorClass::caller_fault, EINVAL,
                         "the pool set file has OPTION SINGLEHDR, the attributes lack the feature "
                         "SINGLEHDR (incompat 0x1); give the local pool set the option, too, or "
                         "take it "
                         "out of the target's");
}

Result<> verify_alone(const PoolHeader& header, const std::string& name) {
    if (is_all_zero(header))
        return fail(ErrorClass::caller_fault, EINVAL,
                    "{} has no pool header: no pool was created in it", name);
    if (header.checksum != header_checksum(header))
        return fail(ErrorClass::caller_fault, EINVAL,
                    "the pool header of {} is corrupted: its checksum is {:#x}, its contents give "
                    "{:#x}; restore the pool from a replica",
                    name, header.checksum, header_checksum(header));
    return {};
}

Result<> verify_headers(std::span<const PoolHeader> headers, std::span<const std::string> names,
                        HeaderLayout layout) {
    for (std::size_t i = 0; i < headers.size(); ++i) {
        RPMEM_TRY(verify_alone(headers[i], names[i]));
        if (const std::string field = difference(headers[0], headers[i]); !field.empty())
            return fail(ErrorClass::caller_fault, EINVAL,
                        "the pool headers of {} and {} differ in their {}; are they parts of one "
                        "pool?",
                        names[0], names[i], field);
    }
    if (headers.empty())
        return {};
    RPMEM_TRY(check_attributes(attributes_of(headers[0]), layout));
    return verify_links(headers, names);
}

} // namespace rpmem::target
