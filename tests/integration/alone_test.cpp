// SPDX-License-Identifier: BSD-3-Clause
// RPMEM_ON_LOSS=alone: the program goes on without its target, and the target catches up when it is
// back. Each test runs with a real sshd and daemon, and with an RPMEM_RECONNECT_TIMEOUT of 300 ms.
// The test fails if a call fails or waits longer while the target is away, if a byte is missing
// from the part after the join, if a read returns local bytes, or if another initiator takes a
// replica for good that lacks calls.
#include "tests/integration/alone_pool.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <sstream>
#include <thread>

namespace rpmem::test {
namespace {

TEST_F(Alone, CallsGoOnAndTheTargetCatchesUp) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(2);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_flush(pool, 3 * mebibyte, 64, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_deep_persist(pool, 5 * mebibyte, 64, 0)));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 0, 0, 0)));
    EXPECT_LT(Clock::now() - began, std::chrono::milliseconds(200)) << "a call waited again";
    std::array<std::byte, 8> place{};
    EXPECT_TRUE(failed(rpmem_read(pool, place.data(), 8192, place.size(), 0), ENOTCONN,
                       "the target is away"));
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    expect_replicated(8192, 100);
    expect_replicated(3 * mebibyte, 64);
    expect_replicated(5 * mebibyte, 64);
    // The link is as before: the next call sends.
    local.fill(3);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    expect_replicated(8192, 100);
    const std::string log = library_log();
    EXPECT_TRUE(contains(log, "the program goes on without its replica"));
    EXPECT_TRUE(contains(log, "closed for a while"));
    EXPECT_TRUE(contains(log, "the replica is in sync again"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// What rpmem_set_attr() was given while the target was away reaches it before the join, or with the
// next session.
TEST_F(Alone, AttributesAreKeptUntilTheTargetIsBack) {
    const auto major_of_target = [&] {
        rpmem_pool_attr seen{};
        EXPECT_TRUE(succeeded(rpmem_close(opened(1, &seen))));
        return seen.major;
    };
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    rpmem_pool_attr attributes = sample_attributes();
    for (const std::uint32_t major : {7U, 8U}) {
        attributes.major = major;
        EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes)));
    }
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_EQ(major_of_target(), 8U);

    RPMEMpool* const killed = opened();
    EXPECT_TRUE(succeeded(rpmem_persist(killed, 8192, 100, 0, 0)));
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(killed, 8192, 100, 0, 0)));
    attributes.major = 9;
    EXPECT_TRUE(succeeded(rpmem_set_attr(killed, &attributes)));
    EXPECT_TRUE(succeeded(rpmem_close(killed))); // the target is still away
    set_daemon("");
    EXPECT_EQ(major_of_target(), 9U);
    EXPECT_EQ(major_of_target(), 9U) << "they are not sent again";
}

// Only the target can tell that it refuses them. Until then they are kept.
TEST_F(Alone, KeptAttributesThatTheTargetRefusesAreDropped) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    rpmem_pool_attr attributes = sample_attributes();
    attributes.incompat_features ^= 1; // SINGLEHDR
    EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes)));
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    EXPECT_TRUE(contains(library_log(), "the target refuses the attributes"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    rpmem_pool_attr seen{};
    EXPECT_TRUE(succeeded(rpmem_close(opened(1, &seen))));
    EXPECT_EQ(seen.incompat_features, sample_attributes().incompat_features);
}

// This machine has no record of the pool, as if the program that has filled it ran on another one.
// What this program catches up with later would contain blocks of its own memory.
TEST_F(Alone, OtherMemoryWithoutARecordDoesNotGoOn) {
    EXPECT_TRUE(succeeded(rpmem_close(filled())));
    for (const fs::directory_entry& record :
         fs::directory_iterator(fs::path(variable("XDG_STATE_HOME")) / "librpmem"))
        fs::remove(record);
    LocalPool other(local.size(), directory() / "other");
    other.fill(77);
    RPMEMpool* const pool = sound(open(other, 1));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, 64, 0, 0)));
    EXPECT_TRUE(contains(library_log(), "the replica differs from the memory of this process"));
    EXPECT_FALSE(record_says("alone_since"));
    take_away();
    EXPECT_TRUE(failed(rpmem_persist(pool, mebibyte, 64, 0, 0), ECONNRESET));
    static_cast<void>(rpmem_close(pool));
    EXPECT_EQ(std::memcmp(part(0).data() + mebibyte + 64, local.data() + mebibyte + 64, 4096), 0);
}

// The lane has flushed before the loss, and its next call is after it.
TEST_F(Alone, WhatWasFlushedBeforeTheLossIsSent) {
    RPMEMpool* const pool = filled(2);
    local.fill(4);
    ASSERT_TRUE(succeeded(rpmem_flush(pool, mebibyte, 4096, 1, 0)));
    ASSERT_TRUE(succeeded(rpmem_flush(pool, 2 * mebibyte, 4096, 0, 0)));
    take_away();
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    EXPECT_TRUE(succeeded(rpmem_drain(pool, 1, 0)));
    expect_replicated(mebibyte, 4096);
    expect_replicated(2 * mebibyte, 4096);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The recorder of the medium in the second daemon sees what becomes durable, in its order.
TEST_F(Alone, WhatItSendsIsDurableBeforeTheRecordSaysSo) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(9);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, 64, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 5 * mebibyte, 200 * 1024, 0, 0)));
    const fs::path recording = directory() / "recording";
    set_daemon("", std::string("LD_PRELOAD=") + variable("RPMEM_TEST_RECORDER") +
                       " RPMEM_RECORDER_LOG=" + recording.native() +
                       " ASAN_OPTIONS=verify_asan_link_order=0");
    ASSERT_TRUE(joins(pool));
    ASSERT_TRUE(record_gets_in_sync());
    // Address and length of each range, in which order they became durable.
    std::vector<std::pair<std::size_t, std::size_t>> durable;
    std::vector<std::pair<std::size_t, std::size_t>> before_record;
    std::istringstream lines(read_file(recording));
    for (std::string call, path; lines >> call >> path;) {
        std::size_t address = 0;
        std::size_t length = 0;
        int code = 0;
        lines >> address >> length >> code;
        if (call == "pmem_msync" && code == 0)
            durable.emplace_back(address, length);
        if (call == "fsetxattr")
            before_record = durable; // the last one says that the replica is in sync
    }
    std::ranges::sort(before_record);
    ASSERT_EQ(before_record.size(), 2U) << read_file(recording);
    EXPECT_EQ(before_record[1].first - before_record[0].first, 4 * mebibyte);
    EXPECT_EQ(before_record[0].second, std::size_t{64} * 1024);
    EXPECT_EQ(before_record[1].second, std::size_t{256} * 1024); // 200 KiB are in 4 blocks
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The target is taken away repeatedly, also while it catches up. Each thread has a lane and a
// quarter of the pool.
TEST_F(Alone, NothingIsMissingAfterManyAbsences) {
    constexpr unsigned lanes = 3;
    RPMEMpool* const pool = filled(lanes);
    ASSERT_EQ(lanes_in_force, lanes);
    std::atomic<bool> is_over = false;
    std::atomic<unsigned> failures = 0;
    std::vector<std::thread> programs;
    const std::size_t share = local.size() / (lanes + 1) & ~std::size_t{4095};
    for (unsigned lane = 0; lane < lanes; ++lane)
        programs.emplace_back([&, lane] {
            std::mt19937_64 random(lane);
            while (!is_over) {
                const std::size_t at =
                    (lane + 1) * share + random() % (share - 4096) / 64 * 64; // within its share
                const std::size_t length = 8 * (1 + random() % 128);
                for (std::size_t word = at; word < at + length; word += 8)
                    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(local.data() + word))
                        .store(random(), std::memory_order_relaxed);
                const bool flushes = random() % 4 == 0;
                const int status = flushes ? rpmem_flush(pool, at, length, lane, 0)
                                           : rpmem_persist(pool, at, length, lane, 0);
                failures += status == 0 ? 0 : 1;
            }
            failures += rpmem_drain(pool, lane, 0) == 0 ? 0 : 1;
        });
    for (int absence = 0; absence < 6; ++absence) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300)); // calls are sent
        const pid_t before = daemon_process();
        if (::kill(before, SIGKILL) == 0 && absence % 2 == 0) {
            set_command("exit 127");
            std::this_thread::sleep_for(std::chrono::milliseconds(1500)); // calls go on alone
        }
        set_daemon("");
        // Half of them end while the target catches up, or after it.
        for (int i = 0; i < 400 && daemon_process() == before; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    is_over = true;
    for (std::thread& program : programs)
        program.join();
    EXPECT_EQ(failures, 0U) << rpmem_errormsg();
    ASSERT_TRUE(joins(pool));
    for (unsigned lane = 0; lane < lanes; ++lane)
        EXPECT_TRUE(succeeded(rpmem_drain(pool, lane, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, local.size() - header_size);
}

TEST_F(Alone, ANewerOwnerIsFinal) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    fs::remove(directory() / "part0"); // the target came back with another part
    std::ofstream(directory() / "part0").close();
    fs::resize_file(directory() / "part0", local.size());
    fs::permissions(directory() / "part0", fs::perms::owner_read | fs::perms::owner_write);
    set_daemon("");
    int status = 0;
    for (int i = 0; i < 1500 && status == 0; ++i) {
        status = rpmem_persist(pool, 8192, 100, 0, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(failed(status, ESTALE)) << "the pool is not this program's any more";
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ESTALE));
    static_cast<void>(rpmem_close(pool));
}

// A signal in the thread of the library would end the program.
TEST_F(Alone, MemoryThatCannotBeReadFailsTheReplica) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 2 * mebibyte, 100, 0, 0)));
    fs::resize_file(directory() / "local", 2 * mebibyte);
    set_daemon("");
    for (int i = 0; i < 500 && !contains(library_log(), "cannot be read by this process"); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(contains(library_log(), "2097152 of the pool"));
    EXPECT_TRUE(contains(library_log(), "does not try again"));
    fs::resize_file(directory() / "local", local.size());
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    std::byte byte{};
    EXPECT_TRUE(failed(rpmem_read(pool, &byte, 8192, 1, 0), ENOTCONN));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    LocalPool other(local.size());
    EXPECT_TRUE(failed(open(other, 1), ESTALE, "it was catching up"));
}

// The part is one of zeros, as rpmemctl create leaves it. The program has stored to all of its
// memory before its first call.
TEST_F(Alone, AFreshReplicaIsFilledByItsFirstProgram) {
    open_existing(0);
    expect_replicated(0, local.size());
    take_away();
    local.fill(32);
    EXPECT_TRUE(succeeded(rpmem_persist(pool_, 8192, 100, 0, 0))) << "it cannot go on alone";
    set_daemon("");
    ASSERT_TRUE(joins(pool_));
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(pool_)));
}

// No record says whose bytes they are, so they may be the only good ones.
TEST_F(Alone, AReplicaWithUnknownBytesIsNotOverwritten) {
    open_existing(7);
    const auto there = part(0);
    EXPECT_EQ(std::ranges::count(std::span(there).subspan(mebibyte), std::byte(7)),
              static_cast<std::ptrdiff_t>(7 * mebibyte));
    EXPECT_TRUE(contains(library_log(), "Nothing was sent"));
    EXPECT_TRUE(contains(library_log(), "RPMEM_ON_LOSS=alone has no effect"));
    EXPECT_TRUE(succeeded(rpmem_close(pool_)));
}

// Bytes of a replica may be older than those of the program, so they do not make it the source.
TEST_F(Alone, AFreshReplicaIsNotFilledFromMemoryIntoWhichItWasRead) {
    open_existing(0, true);
    const auto there = part(0);
    EXPECT_EQ(std::ranges::count(std::span(there).subspan(mebibyte), std::byte()),
              static_cast<std::ptrdiff_t>(7 * mebibyte));
    EXPECT_TRUE(contains(library_log(), "Nothing was sent"));
    EXPECT_TRUE(succeeded(rpmem_close(pool_)));
}

// It has put no bytes of the replica into the memory, so the next session has its proof.
TEST_F(Alone, AFailedReadKeepsTheProof) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(33);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(failed(rpmem_read(pool, local.data() + mebibyte, mebibyte, 64, 0), ENOTCONN));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    set_daemon("");
    RPMEMpool* const again = opened(2);
    EXPECT_TRUE(succeeded(rpmem_persist(again, mebibyte, 64, 0, 0)));
    ASSERT_TRUE(joins(again));
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(again)));
}

// The next session has no proof, because its memory is anonymous, so it must not write either.
TEST_F(Alone, APoolThatIsClosedAloneIsRefusedToOthers) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(contains(library_log(), "is closed without its replica"));
    set_daemon("");
    {
        LocalPool other(local.size());
        EXPECT_TRUE(failed(open(other, 1), ESTALE, "may lack calls that returned 0"));
        EXPECT_TRUE(failed(open(other, 1), ESTALE, "may lack calls that returned 0"))
            << "a refused open must leave the mark";
        EXPECT_TRUE(failed(remove("pool.set", RPMEM_REMOVE_FORCE), EPERM, "has not made it equal"))
            << "pmempool sync removes a replica that it cannot open";
    }
    RPMEMpool* const again = opened();
    EXPECT_TRUE(succeeded(rpmem_persist(again, mebibyte, 64, 0, 0)));
    expect_replicated(8192, 100); // compared before the first write
    EXPECT_TRUE(succeeded(rpmem_close(again)));
    LocalPool other(local.size());
    EXPECT_TRUE(succeeded(rpmem_close(sound(open(other, 1)))));
}

// Otherwise a program that was killed then would leave a pool that nobody may open.
TEST_F(Alone, BeforeTheFirstWriteThePoolHasNoMark) {
    EXPECT_TRUE(succeeded(rpmem_close(filled())));
    RPMEMpool* const pool = opened();
    EXPECT_FALSE(record_says("alone_since"));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(record_says("alone_since"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_FALSE(record_says("alone_since"));
}

// A later session could not prove that its memory is the source.
TEST_F(Alone, AnonymousMemoryDoesNotGoOn) {
    LocalPool other(local.size());
    RPMEMpool* const pool = sound(create(other, 1));
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_TRUE(contains(library_log(), "RPMEM_ON_LOSS=alone has no effect"));
    EXPECT_FALSE(record_says("alone_since"));
    take_away();
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ECONNRESET));
    static_cast<void>(rpmem_close(pool));
}

TEST_F(Alone, APoolThatWasInSyncIsOpenToOthers) {
    EXPECT_TRUE(succeeded(rpmem_close(filled())));
    RPMEMpool* const pool = opened();
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
