// SPDX-License-Identifier: BSD-3-Clause
// The counters of an open pool. They are in a memfd, which `rpmemctl status` reads through
// /proc/PID/fd while the program runs. It is sealed, so that no other process can shrink it or
// write to it.
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

// The kinds of calls on a lane. Each has its own counters.
enum class CallKind : unsigned { persist, flush, drain, deep_persist, read };
inline constexpr std::array<std::string_view, 5> call_names{"persist", "flush", "drain",
                                                            "deep_persist", "read"};
inline constexpr std::size_t call_kinds = call_names.size();

// Successful calls, counted by the thread that uses the lane.
struct CallCounters {
    std::uint64_t bytes;
    std::uint64_t ticks; // sum of all calls
    statistics::Counts calls;
};

struct alignas(cache_line) LaneCounters {
    std::uint64_t unconfirmed; // bytes flushed since the last drain, persist or deep_persist
    std::uint64_t waits;       // number of waits for credits
    std::array<CallCounters, call_kinds> of;

    void count(CallKind call, std::uint64_t length, std::uint64_t began) {
        CallCounters& counters = of[static_cast<unsigned>(call)];
        const std::uint64_t took = statistics::ticks() - began;
        ++counters.calls[statistics::bucket_of(took)];
        counters.ticks += took;
        counters.bytes += length;
    }
};

// See librpmem/connection/link.hpp.
enum class LinkState : std::uint32_t { connected, reconnecting, failed, away, catching_up, paused };
inline constexpr std::array<std::string_view, 6> link_state_names{
    "connected", "reconnecting", "failed", "away", "catching_up", "paused"};

// Written rarely, by one thread at a time. Texts end with NUL.
struct PoolFacts {
    std::array<char, 512> name;      // TARGET:POOL_SET
    std::array<char, 256> lanes_by;  // description of the first connection's provider
    std::array<char, 512> last_loss; // why the last session was lost or the link has failed
    std::uint64_t size;
    LinkState state;
    std::uint32_t lane_count;
    std::uint64_t generation;
    std::uint64_t reconnects;
    std::uint64_t replayed_bytes;
    std::uint64_t opened;      // nanoseconds since 1970
    std::uint64_t state_since; // likewise
    // With RPMEM_ON_LOSS=alone:
    std::uint64_t behind_bytes;       // of the blocks that the target lacks
    std::uint64_t catch_up_rate;      // bytes per second
    std::uint64_t is_outpaced;        // 1: the program writes as fast as the replica catches up
    std::uint64_t last_join;          // nanoseconds since 1970; 0: none yet
    double nanoseconds_of_tick;       // fixed, so that the latency of a bucket never changes
    std::array<char, 128> control;    // socket to steer the pool; empty: there is none
    std::array<char, 512> no_control; // why there is none, with RPMEM_ON_LOSS=alone
};

// The beginning of the file. An array of LaneCounters follows at lanes_begin.
struct PoolCounterHeader {
    std::array<char, 8> magic;
    std::uint32_t version; // of this layout
    std::uint32_t size;    // of this header
    std::uint32_t size_of_lane;
    std::uint32_t process;
    PoolFacts facts;
};

inline constexpr std::array<char, 8> counter_magic{'R', 'P', 'M', 'E', 'M', 'C', 'N', 'T'};
inline constexpr std::uint32_t counter_version = 4;
// The name of the file in /proc/PID/fd, after "/memfd:".
inline constexpr const char* counter_file_name = "librpmem-statistics";
inline constexpr std::size_t lanes_begin = 4096;
static_assert(sizeof(PoolCounterHeader) <= lanes_begin);

class PoolCounters {
public:
    // If no memfd can be created, the counters work, but nobody can read them.
    static Result<PoolCounters> make(unsigned lanes);
    PoolCounters(PoolCounters&& other) noexcept;
    PoolCounters& operator=(PoolCounters&& other) noexcept;
    PoolCounters(const PoolCounters&) = delete;
    PoolCounters& operator=(const PoolCounters&) = delete;
    PoolCounters() = default;
    ~PoolCounters();

    [[nodiscard]] LaneCounters& lane(unsigned index) const { return lanes_[index]; }
    [[nodiscard]] PoolFacts& facts() const { return header_->facts; }
    // Returns the file to read the counters from, or -1 if there is none.
    [[nodiscard]] int fd() const { return file_.get(); }

private:
    UniqueFd file_;
    std::size_t bytes_ = 0;
    PoolCounterHeader* header_ = nullptr;
    LaneCounters* lanes_ = nullptr;
};

// Copies TEXT, cut to leave a NUL at the end.
template <std::size_t size>
void put_text(std::array<char, size>& place, std::string_view text) {
    place.fill('\0');
    text.copy(place.data(), size - 1);
}

} // namespace rpmem::initiator
