// SPDX-License-Identifier: BSD-3-Clause
// The counts of an open pool. They lie in a sealed memfd, so that `rpmemctl status` reads them
// through /proc/PID/fd while the program runs, and nobody can make it smaller or write into it.
#pragma once

#include "common/base/cache_line.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"
#include "common/statistics/latency.hpp"
#include "common/statistics/ticks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rpmem::initiator {

// The calls on a lane; each kind has counts of its own.
enum class CallKind : unsigned { persist, flush, drain, deep_persist, read };
inline constexpr std::array<std::string_view, 5> call_names{"persist", "flush", "drain",
                                                            "deep_persist", "read"};
inline constexpr std::size_t call_kinds = call_names.size();

// Calls that have succeeded. Written by the one thread that uses the lane.
struct CallCounters {
    std::uint64_t bytes;
    std::uint64_t ticks; // in all of them
    statistics::Counts calls;
};

struct alignas(cache_line) LaneCounters {
    std::uint64_t unconfirmed; // bytes that were flushed behind the last drain or persist
    std::uint64_t waits;       // until the target had room for more
    std::array<CallCounters, call_kinds> of;

    void count(CallKind call, std::uint64_t length, std::uint64_t began) {
        CallCounters& counters = of[static_cast<unsigned>(call)];
        const std::uint64_t took = statistics::ticks() - began;
        ++counters.calls[statistics::bucket_of(took)];
        counters.ticks += took;
        counters.bytes += length;
    }
};

// See librpmem/link.hpp.
enum class LinkState : std::uint32_t { connected, reconnecting, failed };
inline constexpr std::array<std::string_view, 3> link_state_names{"connected", "reconnecting",
                                                                  "failed"};

// Written seldom, and by one thread at a time.
struct PoolFacts {
    std::array<char, 512> name;      // TARGET:POOL_SET, up to its NUL, as the next
    std::array<char, 256> lanes_by;  // what the lanes are
    std::array<char, 512> last_loss; // why the last session was lost, or what ended the pool
    std::uint64_t size;
    LinkState state;
    std::uint32_t lane_count;
    std::uint64_t generation;
    std::uint64_t reconnects;
    std::uint64_t replayed_bytes;
    std::uint64_t opened;       // nanoseconds since 1970
    double nanoseconds_of_tick; // one number for all readers: a call stays in its bucket
};

// The beginning of the memory; an array of LaneCounters follows it.
struct PoolCounterHeader {
    std::array<char, 8> magic;
    std::uint32_t version; // of this layout
    std::uint32_t size;    // of this header
    std::uint32_t size_of_lane;
    std::uint32_t process;
    PoolFacts facts;
};

inline constexpr std::array<char, 8> counter_magic{'R', 'P', 'M', 'E', 'M', 'C', 'N', 'T'};
inline constexpr std::uint32_t counter_version = 1;
// Its name in /proc/PID/fd, behind "/memfd:".
inline constexpr const char* counter_file_name = "librpmem-statistics";
inline constexpr std::size_t lanes_begin = 4096;
static_assert(sizeof(PoolCounterHeader) <= lanes_begin);

class PoolCounters {
public:
    // Without a memfd, for want of descriptors or rights, they count for nobody.
    static Result<PoolCounters> make(unsigned lanes);
    PoolCounters(PoolCounters&& other) noexcept;
    PoolCounters& operator=(PoolCounters&& other) noexcept;
    PoolCounters(const PoolCounters&) = delete;
    PoolCounters& operator=(const PoolCounters&) = delete;
    PoolCounters() = default;
    ~PoolCounters();

    [[nodiscard]] LaneCounters& lane(unsigned index) const { return lanes_[index]; }
    [[nodiscard]] PoolFacts& facts() const { return header_->facts; }
    // The file from which others read them; -1: there is none.
    [[nodiscard]] int fd() const { return file_.get(); }

private:
    UniqueFd file_;
    std::size_t bytes_ = 0;
    PoolCounterHeader* header_ = nullptr;
    LaneCounters* lanes_ = nullptr;
};

// Cut to what there is room for.
template <std::size_t size>
void put_text(std::array<char, size>& place, std::string_view text) {
    place.fill('\0');
    text.copy(place.data(), size - 1);
}

} // namespace rpmem::initiator
