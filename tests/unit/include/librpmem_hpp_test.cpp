// SPDX-License-Identifier: BSD-3-Clause
// Tests what librpmem.hpp passes to the C library. This program defines the functions of the C
// library itself and records their arguments, because with the real one strict and relaxed calls
// only differ after a power failure. The test fails if an offset, a length, a lane or a flag is
// wrong, if a timeout or a field of the state changes on its way, or if a pool is closed while one
// of its lanes is in use.
#include <gtest/gtest.h>
#include <librpmem.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace {

struct Call {
    const char* function;
    std::size_t offset;
    std::size_t length;
    unsigned lane;
    unsigned flags;

    bool operator==(const Call& other) const {
        return std::strcmp(function, other.function) == 0 && offset == other.offset &&
               length == other.length && lane == other.lane && flags == other.flags;
    }
};
std::vector<Call> calls;
std::vector<int> timeouts;

int note(const Call& call) {
    calls.push_back(call);
    return 0;
}

RPMEMpool* stub_pool() {
    static char pool;
    return reinterpret_cast<RPMEMpool*>(&pool);
}

} // namespace

RPMEMpool* rpmem_create(const char*, const char*, void*, size_t, unsigned*,
                        const rpmem_pool_attr*) {
    return stub_pool();
}
int rpmem_close(RPMEMpool*) { return 0; }
const char* rpmem_errormsg(void) { return ""; }
int rpmem_persist(RPMEMpool*, size_t offset, size_t length, unsigned lane, unsigned flags) {
    return note({"persist", offset, length, lane, flags});
}
int rpmem_flush(RPMEMpool*, size_t offset, size_t length, unsigned lane, unsigned flags) {
    return note({"flush", offset, length, lane, flags});
}
int rpmem_deep_persist(RPMEMpool*, size_t offset, size_t length, unsigned lane) {
    return note({"deep_persist", offset, length, lane, 0});
}
int rpmem_drain(RPMEMpool*, unsigned lane, unsigned flags) {
    return note({"drain", 0, 0, lane, flags});
}
int rpmem_read(RPMEMpool*, void*, size_t offset, size_t length, unsigned lane) {
    return note({"read", offset, length, lane, 0});
}
int rpmem_replica_state(RPMEMpool*, rpmem_replica_state_info* info) {
    if (info->version != RPMEM_REPLICA_STATE_VERSION)
        return -1;
    *info = {info->version, RPMEM_REPLICA_CATCHING_UP, 1000000000, 3, 5, "why"};
    return 0;
}
int rpmem_wait_in_sync(RPMEMpool*, int timeout_ms) {
    timeouts.push_back(timeout_ms);
    return 0;
}

namespace {

TEST(CxxInterface, HandsOverOffsetsLengthsAndFlags) {
    using librpmem::Words;
    alignas(4096) static std::array<std::uint64_t, 1024> memory{};
    const std::span<std::uint64_t> words(memory);
    auto pool = librpmem::Pool::create("target", "pool.set", std::as_writable_bytes(words), 1);
    ASSERT_TRUE(pool);
    auto lane = pool->lane();
    ASSERT_TRUE(lane);
    const auto range = words.subspan(2, 3);
    ASSERT_TRUE(lane->persist(range));
    ASSERT_TRUE(lane->persist(range, Words::relaxed));
    ASSERT_TRUE(lane->flush(range));
    ASSERT_TRUE(lane->flush(range, Words::relaxed));
    ASSERT_TRUE(lane->deep_persist(range));
    ASSERT_TRUE(lane->drain());
    const std::vector<Call> expected{
        {"persist", 16, 24, 0, 0},      {"persist", 16, 24, 0, RPMEM_PERSIST_RELAXED},
        {"flush", 16, 24, 0, 0},        {"flush", 16, 24, 0, RPMEM_FLUSH_RELAXED},
        {"deep_persist", 16, 24, 0, 0}, {"drain", 0, 0, 0, 0}};
    ASSERT_EQ(calls.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(calls[i] == expected[i])
            << i << ": " << calls[i].function << ' ' << calls[i].offset << '+' << calls[i].length
            << ", flags " << calls[i].flags;
}

TEST(CxxInterface, HandsOverTimeoutsAndTheState) {
    using std::chrono::milliseconds;
    alignas(4096) static std::array<std::byte, 8192> memory{};
    const auto pool = librpmem::Pool::create("target", "pool.set", std::span(memory), 1);
    ASSERT_TRUE(pool);
    for (const milliseconds timeout :
         {milliseconds(0), milliseconds(std::chrono::seconds(2)), milliseconds(INT_MAX),
          milliseconds(std::int64_t{INT_MAX} + 1), milliseconds::max(), milliseconds(-1),
          milliseconds(INT_MIN), milliseconds::min()})
        EXPECT_TRUE(pool->wait_in_sync(timeout));
    EXPECT_EQ(timeouts, (std::vector<int>{0, 2000, INT_MAX, INT_MAX, INT_MAX, -1, -1, -1}));
    const auto status = pool->replica_state();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->state, librpmem::ReplicaState::catching_up);
    EXPECT_EQ(std::chrono::system_clock::to_time_t(status->since), 1000000000);
    EXPECT_EQ(status->behind_bytes, 3U);
    EXPECT_EQ(status->catch_up_rate, 5U);
    EXPECT_EQ(status->reason, "why");
}

// A lane in use keeps the pool open, because it would use the pool after rpmem_close(). The second
// lane is free, which must make no difference.
TEST(CxxInterface, APoolIsNotClosedWhileOneOfItsLanesIsTaken) {
    alignas(4096) static std::array<std::byte, 8192> memory{};
    auto pool = librpmem::Pool::create("target", "pool.set", std::span(memory), 2);
    ASSERT_TRUE(pool);
    {
        const auto lane = pool->lane();
        ASSERT_TRUE(lane);
        const auto closed = pool->close();
        ASSERT_FALSE(closed);
        EXPECT_EQ(closed.error().number, EBUSY);
    }
    EXPECT_TRUE(pool->close());
}

} // namespace
