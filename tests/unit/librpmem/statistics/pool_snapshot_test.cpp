// SPDX-License-Identifier: BSD-3-Clause
// Tests the counters of a pool and the snapshots that other processes read from their file. The
// test fails if a snapshot has wrong sums or differences, if another process can change or truncate
// the counters of this one, if a child made by fork(2) has them mapped, or if a file that is no
// valid statistics file is accepted.
#include "librpmem/statistics/pool_snapshot.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace rpmem::initiator {
namespace {

PoolCounters counters_of(unsigned lanes) {
    PoolCounters counters = PoolCounters::make(lanes).value();
    counters.facts().nanoseconds_of_tick = 0.5;
    return counters;
}

std::string link_to(int file) { return "/proc/self/fd/" + std::to_string(file); }

TEST(PoolSnapshot, HasTheSumOfTheLanes) {
    const PoolCounters counters = counters_of(3);
    put_text(counters.facts().name, "host:pool.set");
    counters.facts().generation = 4;
    for (unsigned lane = 0; lane < 3; ++lane)
        for (unsigned call = 0; call <= lane; ++call)
            counters.lane(lane).count(CallKind::persist, 100, statistics::ticks());
    counters.lane(2).count(CallKind::read, 7, statistics::ticks());
    counters.lane(1).unconfirmed = 5;
    counters.lane(2).unconfirmed = 6;
    counters.lane(0).waits = 8;
    const PoolSnapshot seen = read_counters(counters.fd()).value();
    EXPECT_EQ(text_in(seen.facts.name), "host:pool.set");
    EXPECT_EQ(seen.process, ::getpid());
    EXPECT_EQ(seen.facts.generation, 4);
    EXPECT_EQ(seen.facts.lane_count, 3);
    EXPECT_EQ(seen.unconfirmed_bytes, 11);
    EXPECT_EQ(seen.waits, 8);
    const CallSummary persists = summarize(seen, CallKind::persist);
    EXPECT_EQ(persists.calls, 6);
    EXPECT_EQ(persists.bytes, 600);
    EXPECT_LE(persists.p50, persists.p99);
    EXPECT_LE(persists.p99, persists.max);
    EXPECT_EQ(summarize(seen, CallKind::read).bytes, 7);
    EXPECT_EQ(summarize(seen, CallKind::drain).calls, 0);
}

TEST(PoolSnapshot, DifferenceIsWhatHappenedBetween) {
    const PoolCounters counters = counters_of(1);
    counters.lane(0).count(CallKind::flush, 10, statistics::ticks());
    counters.lane(0).waits = 4;
    counters.facts().reconnects = 1;
    const PoolSnapshot before = read_counters(counters.fd()).value();
    counters.lane(0).count(CallKind::flush, 20, statistics::ticks());
    counters.lane(0).waits = 7;
    counters.facts().reconnects = 3;
    const PoolSnapshot between = since(before, read_counters(counters.fd()).value());
    EXPECT_EQ(summarize(between, CallKind::flush).calls, 1);
    EXPECT_EQ(summarize(between, CallKind::flush).bytes, 20);
    EXPECT_EQ(between.waits, 3);
    EXPECT_EQ(between.facts.reconnects, 2);
}

// Another process of the user can open the file through /proc.
TEST(PoolCounterFile, IsSealed) {
    const PoolCounters counters = counters_of(1);
    EXPECT_NE(::ftruncate(counters.fd(), 0), 0);
    const UniqueFd other(::open(link_to(counters.fd()).c_str(), O_RDWR | O_CLOEXEC));
    if (other) {
        EXPECT_NE(::ftruncate(other.get(), 0), 0);
        EXPECT_LT(::pwrite(other.get(), "x", 1, 0), 0);
        EXPECT_EQ(::mmap(nullptr, lanes_begin, PROT_WRITE, MAP_SHARED, other.get(), 0), MAP_FAILED);
    }
    EXPECT_EQ(::fcntl(counters.fd(), F_GET_SEALS) & F_SEAL_SEAL, F_SEAL_SEAL);
    EXPECT_TRUE(read_counters(other.get()));
}

TEST(PoolCounterFile, IsNotMappedInChildren) {
    const PoolCounters counters = counters_of(1);
    void* const start =
        reinterpret_cast<std::byte*>(&counters.facts()) - offsetof(PoolCounterHeader, facts);
    unsigned char here = 0;
    ASSERT_EQ(::mincore(start, lanes_begin, &here), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        unsigned char resident = 0;
        const bool mapped = ::mincore(start, lanes_begin, &resident) == 0;
        ::_exit(mapped ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// Another process may create a file of that name with any contents.
TEST(PoolCounterFile, OfSomebodyElseIsLookedAtBeforeItIsBelieved) {
    const struct {
        const char* name;
        std::size_t size;
        void (*spoil)(PoolCounterHeader& header);
    } wrong[] = {
        {"empty", 0, [](auto&) {}},
        {"a header alone", sizeof(PoolCounterHeader), [](auto&) {}},
        {"no magic", lanes_begin + sizeof(LaneCounters), [](auto& header) { header.magic = {}; }},
        {"a version", lanes_begin + sizeof(LaneCounters), [](auto& header) { ++header.version; }},
        {"a lane's size", lanes_begin + sizeof(LaneCounters),
         [](auto& header) { header.size_of_lane -= 8; }},
        {"no length of a tick", lanes_begin + sizeof(LaneCounters),
         [](auto& header) { header.facts.nanoseconds_of_tick = 0; }},
        // The file has the size for these lanes, but is sparse.
        {"lanes for days", lanes_begin + std::size_t{100000} * sizeof(LaneCounters),
         [](auto& header) { header.facts.lane_count = 100000; }},
        {"too many lanes", lanes_begin + sizeof(LaneCounters),
         [](auto& header) { header.facts.lane_count = UINT32_MAX; }},
    };
    for (const auto& [name, size, spoil] : wrong) {
        SCOPED_TRACE(name);
        const UniqueFd file(::memfd_create("counters", MFD_CLOEXEC));
        PoolCounterHeader header{.magic = counter_magic,
                                 .version = counter_version,
                                 .size = sizeof(PoolCounterHeader),
                                 .size_of_lane = sizeof(LaneCounters),
                                 .process = 1,
                                 .facts = {}};
        header.facts.lane_count = 1;
        header.facts.nanoseconds_of_tick = 1;
        spoil(header);
        ASSERT_GE(::pwrite(file.get(), &header, sizeof(header), 0), 0);
        ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(size)), 0);
        const auto seen = read_counters(file.get());
        ASSERT_FALSE(seen);
        EXPECT_FALSE(seen.error().text.empty());
    }
}

} // namespace
} // namespace rpmem::initiator
