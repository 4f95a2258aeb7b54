// SPDX-License-Identifier: BSD-3-Clause
// Tests the calls of a pool with two lanes over libfabric. The target records what arrives in its
// memory and in messages. The test fails if rpmem_close() does not first send all that was flushed,
// if it succeeds without an answer or removes the pool, if a strict range is written directly, or
// if a core dump lacks the memory of the pool.
#include "librpmem/pool.hpp"
#include "tests/support/dumped_pages.hpp"
#include "tests/support/recording_daemon.hpp"

namespace rpmem::initiator {
namespace {

using test::RecordingDaemon;
using wire::PersistMode;

constexpr std::size_t pool_size = std::size_t{64} * 1024;

struct LocalMemory {
    struct alignas(4096) Pages {
        std::array<std::byte, pool_size> bytes;
    };
    std::unique_ptr<Pages> pages = std::make_unique<Pages>();
    std::array<std::byte, pool_size>& bytes = pages->bytes;
    LocalMemory() { bytes.fill(std::byte{1}); }
};

Result<std::unique_ptr<Pool>> create(LocalMemory& memory, const Settings& settings) {
    return Pool::create({.target = test::loopback,
                         .pool_set = "pool.set",
                         .address = memory.bytes.data(),
                         .size = pool_size,
                         .lanes = 2,
                         .command = "rpmemd"},
                        rpmem_pool_attr{}, settings);
}

TEST(RecordedPool, CloseSendsWhatWasFlushedOnEveryLane) {
    RecordingDaemon daemon(pool_size, wire::PersistMethod::general_purpose);
    LocalMemory memory;
    auto pool = test::value_of(create(memory, daemon.settings()));
    ASSERT_TRUE(pool->flush(8192, 64, 1, 0));
    ASSERT_TRUE(pool->flush(4096, 64, 0, 0));
    EXPECT_TRUE(test::succeeded(pool->close()));
    std::array<bool, 2> came{};
    for (const auto& entry : daemon.target().record())
        if (entry.mode == PersistMode::inline_data && entry.length == 64 && entry.lane < 2)
            came[entry.lane] = entry.offset == (entry.lane == 0 ? 4096U : 8192U);
    EXPECT_TRUE(came[0]);
    EXPECT_TRUE(came[1]);
    EXPECT_EQ(daemon.recorded_at_close(), daemon.target().record().size())
        << "something came behind the request to close the pool";
}

TEST(RecordedPool, CloseTellsOfALaneThatIsNotAnswered) {
    for (const unsigned lane : {0U, 1U}) {
        RecordingDaemon daemon(pool_size, wire::PersistMethod::general_purpose);
        LocalMemory memory;
        Settings settings = daemon.settings();
        settings.operation_timeout = std::chrono::milliseconds(300);
        auto pool = test::value_of(create(memory, settings));
        daemon.target().withhold_answers(true);
        ASSERT_TRUE(pool->flush(8192, 64, lane, 0));
        EXPECT_TRUE(test::failed(pool->close(), ETIMEDOUT)) << lane;
        pool.reset();
        EXPECT_FALSE(daemon.asked_to_remove()) << "a pool that was made must stay";
    }
}

TEST(RecordedPool, CoreDumpsHaveItsMemory) {
    RecordingDaemon daemon(pool_size, wire::PersistMethod::general_purpose);
    LocalMemory memory;
    auto pool = test::value_of(create(memory, daemon.settings()));
    const std::string pages = test::dumped(memory.bytes);
    EXPECT_EQ(pages, std::string(pages.size(), 'd'));
    EXPECT_TRUE(pool->close());
}

// A direct write may be cut anywhere, so only relaxed ranges may use it.
TEST(RecordedPool, StrictRangesGoInMessages) {
    struct Row {
        const char* name;
        std::function<Result<>(Pool&, std::size_t, unsigned)> call;
    };
    const std::vector<Row> rows{
        {"persist", [](Pool& pool, std::size_t offset,
                       unsigned flags) { return pool.persist(offset, 64, 1, flags); }},
        {"flush", [](Pool& pool, std::size_t offset, unsigned flags) {
             auto result = pool.flush(offset, 64, 1, flags);
             return result ? pool.drain(1, 0) : result;
         }}};
    for (const auto method :
         {wire::PersistMethod::general_purpose, wire::PersistMethod::appliance}) {
        RecordingDaemon daemon(pool_size, method);
        LocalMemory memory;
        auto pool = test::value_of(create(memory, daemon.settings()));
        std::size_t offset = 0;
        for (const Row& row : rows)
            for (const unsigned flags : {0U, RPMEM_PERSIST_RELAXED}) {
                SCOPED_TRACE(std::string(row.name) + (flags != 0 ? ", relaxed" : ", strict"));
                offset += 256;
                ASSERT_TRUE(test::succeeded(row.call(*pool, offset, flags)));
                const auto came = [&](const test::Record& record) {
                    return std::ranges::any_of(record, [&](const test::Recorded& entry) {
                        return entry.offset == offset && entry.length == 64;
                    });
                };
                ASSERT_TRUE(daemon.target().wait_until(came));
                const auto record = daemon.target().record();
                const bool in_message =
                    std::ranges::any_of(record, [&](const test::Recorded& entry) {
                        return entry.offset == offset && entry.mode == PersistMode::inline_data;
                    });
                EXPECT_EQ(in_message, flags == 0);
            }
        EXPECT_TRUE(test::succeeded(pool->close()));
    }
}

} // namespace
} // namespace rpmem::initiator
