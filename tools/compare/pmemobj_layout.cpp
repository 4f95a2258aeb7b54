// SPDX-License-Identifier: BSD-3-Clause
#include "tools/compare/pmemobj_layout.hpp"

#include "common/base/log.hpp"
#include "tools/compare/identity.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rpmem::compare {
namespace {

constexpr std::string_view signature = "PMEMOBJ";
constexpr std::uint32_t known_major = 6;
// Offset of three fields in the pool descriptor: the offset of the lanes, their number, and the
// offset of the heap.
constexpr std::uint64_t lanes_field = 5120;
// Addresses, function pointers and locks of the program that has the pool open.
constexpr Range run_time{6656, 7232};

// A lane has three logs, each with a header of 64 bytes that names the next log in the heap.
constexpr std::uint64_t lane_length = 3072;
constexpr std::array<std::uint64_t, 3> logs_of_lane{0, 256, 960};
constexpr std::uint64_t next_in_log = 8;
constexpr Range generation_in_log{24, 32}; // not replicated for logs in the heap
constexpr std::uint64_t log_alignment = 64;
constexpr std::uint64_t max_lanes = 65536;
constexpr std::uint64_t max_logs = 65536; // ends the walk through a cycle of logs

constexpr std::string_view heap_signature = "MEMORY_HEAP_HDR";
constexpr std::uint64_t heap_header_length = 1024;
constexpr std::uint64_t chunk_length = 256 << 10;
constexpr std::uint64_t max_zone_chunks = 65528;
constexpr std::uint32_t zone_magic = 0xC3F0A2D2;
constexpr std::uint64_t zone_header_length = 64;
constexpr std::uint64_t chunk_header_length = 8;
constexpr std::uint64_t zone_prefix = zone_header_length + max_zone_chunks * chunk_header_length;
constexpr std::uint64_t zone_length = zone_prefix + max_zone_chunks * chunk_length;
constexpr std::uint16_t footer_type = 1;
// The allocator keeps a record with pointers in the first chunk of free memory. It stays there
// after the memory is allocated.
constexpr Range record_in_chunk{64, 96};
constexpr std::uint64_t heap_state = 6704; // offset in the pool to which `heap` of a record points

struct HeapHeader {
    std::array<char, 16> signature;
    std::array<std::uint64_t, 3> versions;
    std::uint64_t chunk_length;
    std::uint64_t chunks_of_zone;
};

struct ZoneHeader {
    std::uint32_t magic;
    std::uint32_t chunks;
};

struct ChunkHeader {
    std::uint16_t type;
    std::uint16_t flags;
    std::uint32_t chunks;
};

struct MemoryRecord {
    std::uint32_t chunk;
    std::uint32_t zone;
    std::uint32_t chunks;
    std::uint32_t block;
    std::uint64_t functions; // addresses in the program
    std::uint64_t heap;
};
static_assert(sizeof(MemoryRecord) == record_in_chunk.end - record_in_chunk.begin);

class Walk {
public:
    explicit Walk(const PoolBytes& pool) : pool_(pool) {}

    Result<Unreplicated> run() {
        RPMEM_ASSIGN(const bool ours, is_ours());
        if (!ours)
            return std::move(found_);
        add({0, run_time.begin}, {});
        found_.ranges.push_back(run_time);
        std::array<std::uint64_t, 3> places{};
        RPMEM_TRY(read(lanes_field, places));
        RPMEM_TRY(add_logs(places[0], places[1]));
        RPMEM_TRY(add_heap(places[2]));
        found_.ranges = joined(std::move(found_.ranges));
        found_.kind = "run-time state of libpmemobj";
        return std::move(found_);
    }

private:
    template <typename Value>
    [[nodiscard]] Result<> read(std::uint64_t offset, Value& value) const {
        static_assert(std::is_trivially_copyable_v<Value>);
        if (offset > pool_.size || sizeof(Value) > pool_.size - offset)
            return invalid("this pool of libpmemobj is damaged or truncated: {} bytes at offset {} "
                           "are beyond its {} bytes",
                           sizeof(Value), offset, pool_.size);
        return pool_.read(offset, std::as_writable_bytes(std::span(&value, 1)));
    }

    [[nodiscard]] Result<bool> is_ours() const {
        std::array<char, 8> name{};
        std::uint32_t major = 0;
        if (pool_.size < run_time.end)
            return false;
        RPMEM_TRY(read(0, name));
        if (std::string_view(name.data(), signature.size() + 1) !=
            std::string_view(signature.data(), signature.size() + 1))
            return false;
        RPMEM_TRY(read(sizeof(name), major));
        if (major != known_major)
            return invalid("its layout of libpmemobj has version {}; only {} is supported", major,
                           known_major);
        return true;
    }

    void add(Range of, Range within) {
        found_.needed = std::max(found_.needed, of.end);
        if (within.size() > 0)
            found_.ranges.push_back({of.begin + within.begin, of.begin + within.end});
    }

    [[nodiscard]] Result<> add_logs(std::uint64_t lanes, std::uint64_t count) {
        if (count > max_lanes)
            return invalid("it has {} lanes; the maximum is {}", count, max_lanes);
        add({lanes, lanes + count * lane_length}, {});
        for (std::uint64_t lane = 0; lane < count; ++lane)
            for (const std::uint64_t log : logs_of_lane)
                RPMEM_TRY(add_logs_behind(lanes + lane * lane_length + log));
        return {};
    }

    [[nodiscard]] Result<> add_logs_behind(std::uint64_t log) {
        for (std::uint64_t steps = 0;; ++steps) {
            std::uint64_t next = 0;
            RPMEM_TRY(read(log + next_in_log, next));
            if (next == 0)
                return {};
            if (steps == max_logs || next > pool_.size)
                return invalid("a log of its lanes is damaged: the next one is at {:#x}, after {} "
                               "others; the pool has {:#x} bytes, and {} logs are the maximum",
                               next, steps, pool_.size, max_logs);
            log = (next + log_alignment - 1) / log_alignment * log_alignment;
            add({log, log + log_alignment}, generation_in_log);
        }
    }

    [[nodiscard]] Result<> add_heap(std::uint64_t heap) {
        HeapHeader header{};
        RPMEM_TRY(read(heap, header));
        if (std::string_view(header.signature.data(), heap_signature.size()) != heap_signature ||
            header.chunk_length != chunk_length || header.chunks_of_zone != max_zone_chunks)
            return invalid(
                "its heap at offset {} has signature \"{}\", chunks of {} bytes and zones "
                "of {} chunks; only \"{}\", {} and {} are supported",
                heap, printable({header.signature.data(), heap_signature.size()}),
                header.chunk_length, header.chunks_of_zone, heap_signature, chunk_length,
                max_zone_chunks);
        std::uint64_t zone = heap + heap_header_length;
        for (std::uint32_t number = 0; zone < pool_.size; ++number, zone += zone_length) {
            ZoneHeader zone_header{};
            if (sizeof(zone_header) > pool_.size - zone)
                return {};
            RPMEM_TRY(read(zone, zone_header));
            if (zone_header.magic != zone_magic) // the zone was never used
                return {};
            RPMEM_TRY(add_zone(zone, number, zone_header.chunks));
        }
        return {};
    }

    [[nodiscard]] Result<> add_zone(std::uint64_t zone, std::uint32_t number, std::uint32_t count) {
        if (count == 0 || count > max_zone_chunks)
            return invalid("zone {} of its heap has {} chunks; 1 to {} are possible", number, count,
                           max_zone_chunks);
        std::vector<ChunkHeader> headers(count);
        const std::uint64_t first = zone + zone_header_length;
        const Range chunks{zone + zone_prefix, zone + zone_prefix + count * chunk_length};
        found_.needed = std::max(found_.needed, chunks.end);
        if (chunks.end > pool_.size) // the caller compares `needed` with the size
            return {};
        RPMEM_TRY(pool_.read(first, std::as_writable_bytes(std::span(headers))));
        for (std::uint32_t i = 0; i < count; ++i) {
            if (headers[i].type == footer_type)
                add({first + i * chunk_header_length, first + (i + 1) * chunk_header_length},
                    {0, chunk_header_length});
            RPMEM_TRY(add_chunk(chunks.begin + i * chunk_length, i, number));
        }
        return {};
    }

    // The same bytes may be data of the program. A record is recognised because it contains its own
    // chunk and zone.
    [[nodiscard]] Result<> add_chunk(std::uint64_t chunk, std::uint32_t index, std::uint32_t zone) {
        constexpr std::uint64_t end_of_user_addresses = std::uint64_t{1} << 56;
        const auto is_address = [](std::uint64_t value) {
            return value >= page && value < end_of_user_addresses && value % 8 == 0;
        };
        const Range place{chunk + record_in_chunk.begin, chunk + record_in_chunk.end};
        if (pool_.is_hole(place))
            return {};
        MemoryRecord record{};
        RPMEM_TRY(read(place.begin, record));
        if (record.chunk == index && record.zone == zone && record.chunks > 0 &&
            record.chunks <= max_zone_chunks && is_address(record.functions) &&
            is_address(record.heap) && record.heap % page == heap_state % page)
            found_.ranges.push_back(place);
        return {};
    }

    const PoolBytes& pool_;
    Unreplicated found_;
};

} // namespace

Result<Unreplicated> find_unreplicated(const PoolBytes& pool) { return Walk(pool).run(); }

} // namespace rpmem::compare
