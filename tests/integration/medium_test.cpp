// SPDX-License-Identifier: BSD-3-Clause
// Tests media that fail under the real daemon: a preloaded library loses the write of one
// page as Linux does, and part files are truncated, removed or replaced while a pool is open. A
// call that returns 0 for bytes that are not durable, that hangs, or that reports another cause
// than the medium makes a test fail. So does a failed pool that is marked as closed cleanly.
#include "common/base/deadline.hpp"
#include "tests/integration/environment.hpp"

#include <unistd.h>

namespace rpmem::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t page = 4096;
// No call on these media needs a second. A call that runs into a timeout takes longer than this.
constexpr std::chrono::seconds too_long(10);

// The ways to make a range durable. Each returns 0 if the range is durable.
using Call = std::function<int(RPMEMpool*, std::size_t offset, std::size_t size, unsigned lane)>;
const std::vector<std::pair<const char*, Call>> calls = {
    {"persist", [](auto* pool, auto at, auto size,
                   auto lane) { return rpmem_persist(pool, at, size, lane, 0); }},
    {"relaxed persist",
     [](auto* pool, auto at, auto size, auto lane) {
         return rpmem_persist(pool, at, size, lane, RPMEM_PERSIST_RELAXED);
     }},
    {"flush and drain",
     [](auto* pool, auto at, auto size, auto lane) {
         const int flushed = rpmem_flush(pool, at, size, lane, 0);
         return flushed != 0 ? flushed : rpmem_drain(pool, lane, 0);
     }},
    {"deep persist", [](auto* pool, auto at, auto size, auto lane) {
         return rpmem_deep_persist(pool, at, size, lane);
     }}};

unsigned wanted_runs() {
    const char* const text = std::getenv("RPMEM_TEST_MEDIUM_RUNS");
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 40;
}

rpmem_pool_attr attributes_with_shutdown_state() {
    rpmem_pool_attr attributes = sample_attributes();
    attributes.incompat_features = 0x2 | 0x4;
    return attributes;
}

// Returns whether the header of the first part has the mark of an open pool.
bool is_marked_dirty(const fs::path& part) {
    constexpr std::streamoff place = 4040;
    std::ifstream file(part, std::ios::binary);
    return file.seekg(place) && file.get() == 1;
}

// A disk that loses one page and reports that to only one of the syncs that overlap, see
// support/failing_disk.cpp.
class FailingDisk : public PoolTest {
protected:
    static constexpr std::size_t share = 16 * page; // per lane; its last page may be lost
    static constexpr unsigned rounds = 12;

    FailingDisk() { ::setenv("RPMEM_LOG_LEVEL", "0", 1); }

    static std::size_t begin_of(unsigned lane) { return share * (lane + 1); }

    void set_disk(const std::string& disk) {
        set_daemon("--nthreads 4",
                   "LD_PRELOAD=" + std::string(variable("RPMEM_TEST_FAILING_DISK")) +
                       " FAILING_DISK_PART=part0 ASAN_OPTIONS=verify_asan_link_order=0 " + disk);
    }

    RPMEMpool* create_on(const std::string& disk, unsigned lanes) {
        set_disk(disk);
        fs::remove(directory() / "part0");
        return create(local, lanes, "pool.set", attributes_with_shutdown_state());
    }

    struct Faults {
        std::atomic<int> false_successes = 0;
        std::atomic<int> hangs = 0;
        std::atomic<int> other_reasons = 0; // failed calls that did not report the medium
    };

    static bool tells_the_medium() {
        return errno == EIO && std::string(rpmem_errormsg()).find("part0") != std::string::npos;
    }

    // Makes one page durable per round, and counts wrong results in FAULTS. In ROUND_OF_LOSS it is
    // the page that the disk loses.
    static void work(RPMEMpool* pool, unsigned lane, unsigned seed, unsigned round_of_loss,
                     Faults& faults) {
        bool failed = false;
        for (unsigned round = 0; round < rounds; ++round) {
            const bool is_lost = round == round_of_loss;
            const std::size_t at = begin_of(lane) + (is_lost ? share - page : round * page);
            const auto start = Clock::now();
            const int status = calls[(seed + round + lane) % calls.size()].second(
                pool, at + 8 * (seed % 5), 64, lane);
            faults.other_reasons += status != 0 && !tells_the_medium() ? 1 : 0;
            faults.hangs += Clock::now() - start > too_long ? 1 : 0;
            // After a call has failed, nothing may be acknowledged.
            faults.false_successes += status == 0 && (is_lost || failed) ? 1 : 0;
            failed = failed || status != 0;
        }
    }
};

TEST_F(FailingDisk, NoCallReturnsZeroForAPageThatIsLost) {
    int false_successes = 0;
    int hangs = 0;
    int other_reasons = 0;
    const unsigned runs = wanted_runs();
    for (unsigned seed = 0; seed < runs; ++seed) {
        const unsigned lanes = 1U << seed % 3;
        const unsigned loser = seed / 3 % lanes;
        const std::size_t bad = begin_of(loser) + share - page;
        RPMEMpool* const pool =
            sound(create_on("FAILING_DISK_NUMBER=1 FAILING_DISK_OFFSET=" + std::to_string(bad) +
                                " FAILING_DISK_SEED=" + std::to_string(seed),
                            lanes));
        Faults faults;
        std::vector<std::thread> threads;
        for (unsigned lane = 0; lane < lanes; ++lane)
            threads.emplace_back([&, lane] {
                work(pool, lane, seed, lane == loser ? 3 + seed % 5 : rounds, faults);
            });
        // Headers are synced with the same file descriptor, so set_attr may be the sync that gets
        // the error.
        const auto attributes = attributes_with_shutdown_state();
        bool failed = false;
        for (unsigned round = 0; round < 4 && seed % 2 == 0; ++round) {
            const int status = rpmem_set_attr(pool, &attributes);
            faults.other_reasons += status != 0 && !tells_the_medium() ? 1 : 0;
            faults.false_successes += status == 0 && failed ? 1 : 0;
            failed = failed || status != 0;
        }
        for (auto& thread : threads)
            thread.join();
        EXPECT_NE(rpmem_close(pool), 0) << "seed " << seed;
        EXPECT_TRUE(tells_the_medium()) << rpmem_errormsg();
        EXPECT_TRUE(part_gets_unlocked(0));
        EXPECT_TRUE(is_marked_dirty(directory() / "part0")) << "seed " << seed;
        false_successes += faults.false_successes > 0 ? 1 : 0;
        hangs += faults.hangs;
        other_reasons += faults.other_reasons;
    }
    EXPECT_EQ(false_successes, 0) << "of " << runs << " runs";
    EXPECT_EQ(hangs, 0);
    EXPECT_EQ(other_reasons, 0);
}

// The session fails for good: nothing is retried, and the pool stays marked as open.
TEST_F(FailingDisk, AHeaderThatIsLostEndsTheSession) {
    // The first two syncs of the header are those of rpmem_create().
    RPMEMpool* const pool =
        sound(create_on("FAILING_DISK_OFFSET=0 FAILING_DISK_NUMBER=2 FAILING_DISK_SEED=1", 1));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, page, 64, 0, 0)));
    const auto attributes = attributes_with_shutdown_state();
    const std::vector<std::function<int()>> later = {
        [&] { return rpmem_set_attr(pool, &attributes); },
        [&] { return rpmem_persist(pool, page, 64, 0, 0); },
        [&] { return rpmem_set_attr(pool, &attributes); }, [&] { return rpmem_close(pool); }};
    for (const auto& call : later) {
        EXPECT_NE(call(), 0);
        EXPECT_TRUE(tells_the_medium()) << errno << ": " << rpmem_errormsg();
    }
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_TRUE(is_marked_dirty(directory() / "part0"));
    EXPECT_TRUE(contains(daemon_log(), "the medium of part"));
}

// The disk loses the mark of a clean close.
TEST_F(FailingDisk, AnEndThatIsLostIsNoOrderlyOne) {
    RPMEMpool* const pool =
        sound(create_on("FAILING_DISK_OFFSET=0 FAILING_DISK_NUMBER=2 FAILING_DISK_SEED=1", 1));
    EXPECT_NE(rpmem_close(pool), 0);
    EXPECT_TRUE(tells_the_medium()) << errno << ": " << rpmem_errormsg();
    EXPECT_TRUE(part_gets_unlocked(0));
}

// Only the last sync of the daemon reports that the medium lost a write. No call has acknowledged
// it, but the pool must not be marked as closed cleanly.
TEST_F(FailingDisk, APageThatIsLostInTheEndKeepsTheMark) {
    // rpmem_create() syncs three times. The last of these is for the claim of the writer.
    RPMEMpool* const pool =
        sound(create_on("FAILING_DISK_WHOLE=1 FAILING_DISK_OFFSET=" + std::to_string(64 * page) +
                            " FAILING_DISK_NUMBER=4 FAILING_DISK_SEED=1",
                        1));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, page, 64, 0, 0)));
    EXPECT_NE(rpmem_close(pool), 0);
    EXPECT_TRUE(tells_the_medium()) << errno << ": " << rpmem_errormsg();
    EXPECT_TRUE(part_gets_unlocked(0));
    EXPECT_TRUE(is_marked_dirty(directory() / "part0"));
}

TEST_F(FailingDisk, APoolThatCannotBeMadeOrOpenedSaysWhy) {
    EXPECT_EQ(create_on("FAILING_DISK_OFFSET=0 FAILING_DISK_NUMBER=1 FAILING_DISK_SEED=1", 1),
              nullptr);
    EXPECT_TRUE(tells_the_medium()) << errno << ": " << rpmem_errormsg();
    EXPECT_FALSE(fs::exists(directory() / "part0"));
    RPMEMpool* const pool = sound(create_on("", 1));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    // An open first syncs writes of an earlier process. Then it writes and syncs the mark.
    for (const char* number : {"1", "2"}) {
        SCOPED_TRACE(number);
        set_disk(std::string("FAILING_DISK_OFFSET=0 FAILING_DISK_SEED=1 FAILING_DISK_NUMBER=") +
                 number);
        EXPECT_EQ(open(local, 1), nullptr);
        EXPECT_TRUE(tells_the_medium()) << errno << ": " << rpmem_errormsg();
        EXPECT_TRUE(part_gets_unlocked(0));
    }
    set_disk("");
    EXPECT_TRUE(succeeded(rpmem_close(opened())));
}

struct Way {
    const char* name;
    const char* options;
    const char* variables;
};

class TruncatedPart : public PoolTest, public ::testing::WithParamInterface<Way> {
protected:
    TruncatedPart() { set_daemon(GetParam().options, GetParam().variables); }
};

INSTANTIATE_TEST_SUITE_P(, TruncatedPart,
                         ::testing::Values(Way{"Msync", "", ""},
                                           Way{"Pmem", "", "PMEM_IS_PMEM_FORCE=1"},
                                           Way{"Messages", "--direct-access=no", ""}),
                         [](const auto& way) { return std::string(way.param.name); });

// An RDMA device still reads pinned pages that a truncated file has lost, until the daemon detects
// the truncation. Writes to them are not acknowledged.
bool reads_pinned_pages(const std::string& call) {
    return call == "read" && is_on("RPMEM_ENABLE_VERBS");
}

// An access after the end of the file causes a signal, or an error of the system call that copies.
// In both cases the call must report the reason at once.
TEST_P(TruncatedPart, EveryCallIsToldWhy) {
    auto all = calls;
    std::vector<std::byte> bytes(page);
    all.emplace_back("read", [&](RPMEMpool* pool, std::size_t at, std::size_t size, unsigned lane) {
        return rpmem_read(pool, bytes.data(), at, size, lane);
    });
    for (const auto& [name, call] : all) {
        SCOPED_TRACE(name);
        fs::remove(directory() / "part0");
        RPMEMpool* const pool =
            sound(create(local, 1, "pool.set", attributes_with_shutdown_state()));
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 4 * mebibyte, 64, 0, 0)));
        ASSERT_EQ(::truncate((directory() / "part0").c_str(), 2 * mebibyte), 0);
        const Deadline deadline(std::chrono::seconds(5));
        int status = call(pool, 4 * mebibyte, page, 0);
        while (status == 0 && reads_pinned_pages(name) && !deadline.passed())
            status = call(pool, 4 * mebibyte, page, 0);
        EXPECT_NE(status, 0);
        EXPECT_FALSE(deadline.passed());
        EXPECT_TRUE(contains(rpmem_errormsg(), "truncated"));
        EXPECT_NE(rpmem_close(pool), 0);
        EXPECT_TRUE(part_gets_unlocked(0));
        EXPECT_TRUE(is_marked_dirty(directory() / "part0"));
        EXPECT_TRUE(contains(daemon_log(), "truncated"));
    }
}

// Nothing may be acknowledged for a file that has no name any more, because nobody can open it.
class RemovedPart : public TruncatedPart {};

INSTANTIATE_TEST_SUITE_P(, RemovedPart,
                         ::testing::Values(Way{"Msync", "", ""},
                                           Way{"Pmem", "", "PMEM_IS_PMEM_FORCE=1"}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(RemovedPart, FailsTheCalls) {
    const fs::path part = directory() / "part0";
    const fs::path backup = directory() / "backup";
    for (const bool is_replaced : {false, true}) {
        SCOPED_TRACE(is_replaced);
        fs::remove(part);
        RPMEMpool* const pool = sound(create(local, 1));
        if (is_replaced)
            fs::copy_file(part, backup);
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, 64, 0, 0)));
        is_replaced ? fs::rename(backup, part) : static_cast<void>(fs::remove(part));
        const Deadline deadline(std::chrono::seconds(5));
        int status = 0;
        while (status == 0 && !deadline.passed())
            status = rpmem_persist(pool, 8192, 64, 0, 0);
        EXPECT_TRUE(failed(status, EIO, "was removed or replaced"));
        EXPECT_NE(rpmem_close(pool), 0);
        EXPECT_TRUE(contains(daemon_log(), "was removed or replaced"));
    }
}

// A part that still has another name is the same part. An event of inotify reports the lost link to
// the daemon, which handles it before the next request on its control channel.
TEST_P(RemovedPart, MayGetAnotherName) {
    RPMEMpool* const pool = sound(create(local, 1));
    fs::create_hard_link(directory() / "part0", directory() / "elsewhere");
    fs::remove(directory() / "part0");
    const rpmem_pool_attr attributes = sample_attributes();
    EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes)));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 64, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    fs::rename(directory() / "elsewhere", directory() / "part0");
    expect_replicated(8192, 64);
}

} // namespace
} // namespace rpmem::test
