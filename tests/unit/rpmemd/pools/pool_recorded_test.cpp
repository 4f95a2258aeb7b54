// SPDX-License-Identifier: BSD-3-Clause
// Tests what the functions of a pool have made durable when they return, and how they handle
// failures and other processes. The recorder keeps the calls, makes some fail, and runs code before
// others. The test fails if a sync is missing or late, if an error is lost, if headers disagree
// after a failure, or if a part is used that was removed or is locked.
#include "rpmemd/pools/headers/header_copy.hpp"
#include "rpmemd/pools/headers/shutdown_state.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <tuple>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;
using test::Event;
using test::Recorder;

class RecordedPool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
        recorder.reset();
    }
    void TearDown() override {
        recorder.reset();
        PoolFixture::TearDown();
    }

    // Returns whether the file or directory PATH was synced after the last write to WRITTEN.
    static testing::AssertionResult synced_after_writing(const fs::path& path,
                                                         const fs::path& written) {
        const auto events = Recorder::instance().events();
        const auto write = std::find_if(events.rbegin(), events.rend(), [&](const Event& event) {
            return event.call == "pwrite" && event.path == written.native();
        });
        const auto sync = std::find_if(events.rbegin(), write, [&](const Event& event) {
            return (event.call == "fsync" || event.call == "fdatasync") &&
                   event.path == path.native() && event.code == 0;
        });
        if (write == events.rend())
            return testing::AssertionFailure() << "nothing was written to " << written;
        if (sync == write)
            return testing::AssertionFailure() << path << " was not synced";
        return testing::AssertionSuccess();
    }

    Recorder& recorder = Recorder::instance();
};

TEST_F(RecordedPool, CreateMakesHeadersAndNamesDurable) {
    fs::create_directory(part("other"));
    pool_set("pool.set", "2M @/part0\n2M @/other/part1\n");
    const auto pool = value_of(create());
    EXPECT_TRUE(synced_after_writing(part("part0"), part("part0")));
    EXPECT_TRUE(synced_after_writing(part("other/part1"), part("other/part1")));
    EXPECT_TRUE(synced_after_writing(root, part("part0")));
    EXPECT_TRUE(synced_after_writing(part("other"), part("other/part1")));
}

// The writes of a killed process may not be durable, and may be lost in the next power failure.
TEST_F(RecordedPool, WhatAnEarlierProcessLeftIsDurableBeforeItIsRead) {
    ASSERT_TRUE(succeeded(create()));
    for (const std::string name : {"part0", "part1"}) {
        recorder.reset();
        auto pool = value_of(open());
        EXPECT_EQ(recorder.count("fdatasync", name), 1U) << name;
        // Another process may have received the error of a page that is lost.
        EXPECT_GE(recorder.count("posix_fadvise", name), 1U) << name;
        EXPECT_TRUE(succeeded(pool.close()));
        recorder.reset();
        recorder.fail({.call = "fdatasync", .path = name, .number = 1, .code = EIO});
        EXPECT_TRUE(failed(open(), EIO, part(name).native()));
        // Linux reports a failed write only once, so the next sync would succeed.
        EXPECT_GE(recorder.count("posix_fadvise", name), 1U) << name;
        EXPECT_TRUE(succeeded(open()));
    }
    ASSERT_TRUE(succeeded(remove()));
    pool_set("none.set", "OPTION NOHDRS\n2M @/part0\n2M @/part1\n");
    make_part("part0", 2 * MiB, "data");
    recorder.reset();
    recorder.fail({.call = "fdatasync", .path = "part0", .number = 1, .code = EIO});
    EXPECT_TRUE(failed(create("none.set", 0, {}), EIO, part("part0").native()));
    EXPECT_TRUE(succeeded(create("none.set", 0, {})));
}

// After a clean close the medium has all data. Reading them again would only take time.
TEST_F(RecordedPool, APoolThatWasClosedInOrderKeepsItsPageCache) {
    constexpr std::uint32_t with_shutdown_state = 6;
    ASSERT_TRUE(succeeded(create("pool.set", 0, golden_attributes(with_shutdown_state))));
    recorder.reset();
    ASSERT_TRUE(succeeded(open()));
    EXPECT_EQ(recorder.count("posix_fadvise"), 0U);
    auto header = header_of(read_file(part("part0")));
    header.shutdown_state = make_shutdown_state({}, true);
    seal(header);
    write_file(part("part0"), bytes_of(header) + read_file(part("part0")).substr(header_size));
    recorder.reset();
    ASSERT_TRUE(succeeded(open()));
    EXPECT_GE(recorder.count("posix_fadvise", "part0"), 1U);
    EXPECT_GE(recorder.count("posix_fadvise", "part1"), 1U);
}

// A write that was never acknowledged may have failed, and only a sync of its part reports it.
TEST_F(RecordedPool, CloseSyncsEveryPartAndThenMarksThePool) {
    constexpr std::uint32_t with_shutdown_state = 6;
    pool_set("pool.set", "2M @/part0\n2M @/part1\n2M @/part2\n");
    auto pool = value_of(create("pool.set", 0, golden_attributes(with_shutdown_state)));
    recorder.reset();
    ASSERT_TRUE(succeeded(pool.close()));
    const auto events = recorder.events();
    const auto marked = std::ranges::find(events, "pwrite", &Event::call);
    ASSERT_NE(marked, events.end());
    for (const std::string name : {"part0", "part1", "part2"})
        EXPECT_TRUE(std::any_of(events.begin(), marked,
                                [&](const Event& event) {
                                    return (event.call == "fdatasync" || event.call == "fsync") &&
                                           event.path == part(name).native();
                                }))
            << name << " was not synced before the pool was marked as closed";
    for (const std::string name : {"part0", "part1", "part2"}) {
        auto opened = value_of(open());
        recorder.fail({.call = "fdatasync", .path = name, .number = 0, .code = EIO});
        EXPECT_TRUE(failed(opened.close(), EIO, part(name).native()));
        recorder.reset();
    }
}

TEST_F(RecordedPool, NewAttributesAreDurable) {
    auto pool = value_of(create());
    recorder.reset();
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(2, 0x80))));
    EXPECT_TRUE(synced_after_writing(part("part0"), part("part0")));
    EXPECT_TRUE(synced_after_writing(part("part1"), part("part1")));
}

// A pool whose headers disagree might not open again.
TEST_F(RecordedPool, AttributesThatCannotBeWrittenLeaveTheOldOnes) {
    auto pool = value_of(create());
    const auto first = read_file(part("part0"));
    const auto second = read_file(part("part1"));
    for (const std::string name : {"part0", "part1"}) {
        recorder.reset();
        recorder.fail({.call = "pwrite", .path = name, .number = 1, .code = ENOSPC});
        EXPECT_TRUE(failed(pool.set_attributes(golden_attributes(2, 0x80)), ENOSPC, name));
        EXPECT_TRUE(same_attributes(pool.attributes(), golden_attributes(2)));
        EXPECT_EQ(read_file(part("part0")), first) << name;
        EXPECT_EQ(read_file(part("part1")), second) << name;
    }
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_TRUE(succeeded(open()));
}

// A process that examines a pool, like rpmemctl list, locks its parts for a moment.
TEST_F(RecordedPool, WhoOnlyLooksIsNotInTheWay) {
    ASSERT_TRUE(succeeded(create()));
    const UniqueFd look(::open(part("part0").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(look.get(), LOCK_EX), 0);
    EXPECT_TRUE(failed(open(), EBUSY, "in use"));
    ASSERT_EQ(::flock(look.get(), LOCK_SH), 0);
    int tries = 0;
    recorder.before_each([&](const Event& event) {
        if (event.call == "flock" && event.path == part("part0").native() && ++tries == 2)
            ::flock(look.get(), LOCK_UN);
    });
    EXPECT_TRUE(succeeded(open()));
    EXPECT_GE(tries, 2);
}

// Readers that overlap could keep a writer out for ever. So a reader that arrives while a writer
// has the part open is refused. In this test the first reader unlocks the part only after that.
TEST_F(RecordedPool, AReaderThatComesAfterAWriterGivesWay) {
    ASSERT_TRUE(succeeded(create()));
    const UniqueFd reader(::open(part("part0").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::flock(reader.get(), LOCK_SH), 0);
    bool gave_way = false;
    recorder.before_each([&](const Event& event) {
        if (gave_way || event.call != "flock" || event.path != part("part0").native())
            return;
        gave_way = true;
        PoolOptions to_read = options;
        to_read.read_only = true;
        Log no_log;
        EXPECT_TRUE(failed(open_pool(to_read, "pool.set", 0, no_log), EBUSY, "in use"));
        ::flock(reader.get(), LOCK_UN);
    });
    EXPECT_TRUE(succeeded(open()));
    EXPECT_TRUE(gave_way);
}

// CTest runs these tests with PMEM_IS_PMEM_FORCE=1 as Pmem.IsFlushedByOpen.
class PmemRecordedPool : public RecordedPool {
protected:
    void SetUp() override {
        RecordedPool::SetUp();
        if (!test::pmem_is_forced())
            GTEST_SKIP() << "this needs PMEM_IS_PMEM_FORCE=1 in the environment";
        ASSERT_TRUE(succeeded(create("pool.set", 0, golden_attributes(with_shutdown_state))));
    }
    // Returns the number of bytes that were flushed while the pool was opened.
    std::size_t flushed_by_open(std::size_t& size) {
        recorder.reset();
        const auto pool = value_of(open());
        EXPECT_TRUE(pool.is_pmem());
        size = pool.size();
        std::size_t bytes = 0;
        for (const Event& event : recorder.events())
            bytes += event.call == "pmem_persist" ? event.length : 0;
        return bytes;
    }
    // Marks the pool as a killed daemon leaves it.
    void mark_as_open() const {
        auto header = header_of(read_file(part("part0")));
        header.shutdown_state = make_shutdown_state({}, true);
        seal(header);
        write_file(part("part0"), bytes_of(header) + read_file(part("part0")).substr(header_size));
    }

    static constexpr std::uint32_t with_shutdown_state = 6;
};

TEST_F(PmemRecordedPool, WhatAKilledDaemonStoredIsFlushedBeforeItIsRead) {
    std::size_t size = 0;
    for (const bool read_only : {true, false}) {
        mark_as_open();
        options.read_only = read_only;
        EXPECT_GE(flushed_by_open(size), size);
    }
    // The pool was closed cleanly.
    EXPECT_EQ(flushed_by_open(size), 0U);
}

// After a part was opened and before it is locked, another session may remove or replace it.
TEST_F(RecordedPool, APartThatIsRemovedBeforeItIsLockedIsNotUsed) {
    for (const bool made_anew : {false, true}) {
        recorder.reset();
        ASSERT_TRUE(succeeded(create()));
        const auto bytes = read_file(part("part1"));
        recorder.before_each([&](const Event& event) {
            if (event.call != "flock" || event.path != part("part1").native())
                return;
            fs::remove(part("part1"));
            if (made_anew)
                make_part("part1", 2 * MiB, bytes);
        });
        EXPECT_TRUE(failed(open(), ENOENT, "was removed or replaced while"));
        recorder.reset();
        EXPECT_EQ(succeeded(open()), made_anew);
        ASSERT_TRUE(succeeded(remove("pool.set", {.force = true})));
    }
}

// A remaining part may have a header that can only be restored from the copy.
TEST_F(RecordedPool, TheCopyOfTheHeadersStaysUntilAllPartsAreRemoved) {
    const UniqueFd copies(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    options.header_copies = copies.get();
    ASSERT_TRUE(succeeded(create()));
    recorder.fail({.call = "fsync", .path = root.native(), .number = 0, .code = EIO});
    EXPECT_TRUE(failed(remove(), EIO));
    EXPECT_TRUE(has(HeaderCopyFile::name_for(options.poolset_dir / "pool.set")));
}

} // namespace
} // namespace rpmem::target
