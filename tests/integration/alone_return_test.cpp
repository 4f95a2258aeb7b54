// SPDX-License-Identifier: BSD-3-Clause
// How a target returns to a program that went on without it: slowly, after it was stopped, or with
// other bytes. Each fixture runs in a process of its own, because the settings are read once. The
// test fails if the record takes an inconsistent replica for a copy, if the first page of the part
// is there while the replica is catching up, or not the same as before afterwards, if a limit is
// exceeded, or if a part that somebody else has changed is not compared.
#include "common/base/unique_fd.hpp"
#include "tests/integration/alone_pool.hpp"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace rpmem::test {
namespace {

// No attribute of FILE can be changed, while IS_FIXED. Stores through its mapping can.
testing::AssertionResult fix_attributes(const fs::path& file, bool is_fixed) {
    const rpmem::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    int flags = 0;
    if (::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0)
        return testing::AssertionFailure() << std::strerror(errno);
    flags = is_fixed ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    if (::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) != 0)
        return testing::AssertionFailure() << std::strerror(errno);
    return testing::AssertionSuccess();
}

// With an RPMEM_PEER_TIMEOUT of 1 s, a change of a part 3 s after the loss is not the daemon's.
class AloneRestored : public Alone {
protected:
    // Until then a change could be that of the daemon. Nothing else happens at that time.
    static void outlast_the_daemon() {
        std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    }
    void restore(const std::string& backup) const {
        std::fstream(directory() / "part0", std::ios::in | std::ios::out) << backup;
    }
};

// The marks say nothing about bytes that were replaced meanwhile.
TEST_F(AloneRestored, ABackupThatWasPutOverThePartIsCompared) {
    RPMEMpool* const pool = filled();
    const std::string backup = read_file(directory() / "part0");
    local.fill(21);
    ASSERT_TRUE(succeeded(persist_all(pool)));
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    outlast_the_daemon();
    restore(backup);
    set_daemon("");
    ASSERT_TRUE(joins(pool));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(contains(library_log(), "its parts were changed while it was away"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// No call notices the loss, and the first one would only reconnect.
TEST_F(AloneRestored, ABackupIsComparedAlsoIfNoCallHasNoticedTheLoss) {
    RPMEMpool* const pool = filled();
    const std::string backup = read_file(directory() / "part0");
    local.fill(24);
    ASSERT_TRUE(succeeded(persist_all(pool)));
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0);
    ASSERT_TRUE(part_gets_unlocked(0));
    outlast_the_daemon();
    restore(backup);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    ASSERT_TRUE(joins(pool));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// Logins that do not get the pool say nothing about its parts.
TEST_F(AloneRestored, ABackupIsComparedAlsoAfterRefusedLogins) {
    RPMEMpool* const pool = filled();
    const std::string backup = read_file(directory() / "part0");
    local.fill(22);
    ASSERT_TRUE(succeeded(persist_all(pool)));
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    rpmem::UniqueFd locked(::open((directory() / "part0").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(locked.get(), LOCK_EX | LOCK_NB), 0);
    const std::size_t logged = daemon_log().size();
    set_daemon("");
    outlast_the_daemon();
    ASSERT_TRUE(contains(daemon_log().substr(logged), "LOGIN")) << "no login was refused";
    restore(backup);
    locked.reset();
    ASSERT_TRUE(joins(pool));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(AloneRestored, PartsThatNobodyHasChangedAreNotCompared) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    outlast_the_daemon();
    set_daemon("");
    const std::size_t logged = library_log().size();
    ASSERT_TRUE(joins(pool));
    EXPECT_FALSE(contains(library_log().substr(logged), "its parts were changed"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// With an RPMEM_CATCH_UP_RATE of 1.5 MB/s, 8 MiB take 5.6 s.
class AloneSlowly : public Alone {
protected:
    // Waits for at most 20 s.
    [[nodiscard]] bool gets_inconsistent() const {
        for (int i = 0; i < 1000 && !record_says("catching_up_since"); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return record_says("catching_up_since");
    }
    // The first page follows the record.
    [[nodiscard]] bool gets_hidden() const {
        for (int i = 0; i < 250 && first_page() != hidden; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return first_page() == hidden;
    }
    // The replica lacks all of the last session, which was closed while the target was away.
    RPMEMpool* opened_after_going_on_alone(std::uint64_t seed) {
        RPMEMpool* const pool = filled();
        take_away();
        local.fill(seed);
        EXPECT_TRUE(succeeded(persist_all(pool)));
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        set_daemon("");
        return opened(2);
    }
    const std::string hidden = std::string(header_size, '\0');
};

// Whoever finds the pool after a crash of both machines must know that it is no copy.
TEST_F(AloneSlowly, TheRecordSaysThatTheReplicaIsInconsistent) {
    RPMEMpool* const pool = filled();
    EXPECT_TRUE(record_says("alone_since"));
    const std::string header = first_page();
    take_away();
    local.fill(6);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    EXPECT_FALSE(record_says("catching_up_since"));
    const auto began = Clock::now();
    set_daemon("");
    ASSERT_TRUE(gets_inconsistent());
    EXPECT_TRUE(gets_hidden());
    EXPECT_NE(std::memcmp(part(0).data() + header_size, local.data() + header_size,
                          local.size() - header_size),
              0)
        << "this test cannot fail: everything is there already";
    std::byte byte{};
    EXPECT_TRUE(failed(rpmem_read(pool, &byte, 8192, 1, 0), ENOTCONN));
    ASSERT_EQ(::kill(daemon_process(), SIGKILL), 0); // a second loss
    EXPECT_EQ(first_page(), hidden);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    ASSERT_TRUE(joins(pool));
    EXPECT_GT(Clock::now() - began, std::chrono::seconds(3)) << "faster than the limit allows";
    EXPECT_TRUE(record_gets_in_sync());
    EXPECT_EQ(first_page(), header);
    EXPECT_TRUE(record_says("alone_since"));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_FALSE(record_says("alone_since"));
}

// The first page has bytes of the program, which are sent last.
TEST_F(AloneSlowly, WithoutHeadersTheFirstPageComesLast) {
    write_pool_set("bare.set", "OPTION NOHDRS\n8M %/part0");
    local.fill(5);
    RPMEMpool* const pool = sound(create(local, 1, "bare.set", std::nullopt));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 0, local.size(), 0, 0)));
    take_away();
    local.fill(6);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 0, local.size(), 0, 0)));
    set_daemon("");
    ASSERT_TRUE(gets_inconsistent());
    ASSERT_TRUE(gets_hidden());
    const auto last = local.size() - 64;
    for (int checks = 0; checks < 600; ++checks) {
        const std::string page = first_page();
        if (std::memcmp(part(0).data() + last, local.data() + last, 64) == 0)
            break;
        ASSERT_EQ(page, hidden);
        ASSERT_LT(checks, 599) << "the last bytes are never sent";
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(joins(pool));
    expect_replicated(0, local.size());
    EXPECT_TRUE(record_gets_in_sync());
    expect_replicated(0, local.size());
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// A session that went on alone has ended. The call returns while nearly all of the pool still has
// to be sent.
TEST_F(AloneSlowly, TheFirstWriteDoesNotWaitForTheComparison) {
    RPMEMpool* const again = opened_after_going_on_alone(6);
    EXPECT_TRUE(succeeded(rpmem_persist(again, 8192, 8, 0, 0)));
    std::byte byte{};
    EXPECT_TRUE(failed(rpmem_read(again, &byte, 8192, 1, 0), ENOTCONN));
    EXPECT_TRUE(contains(library_log(), "lack calls of an earlier session, so it is compared"));
    ASSERT_TRUE(joins(again));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(record_gets_in_sync());
    EXPECT_TRUE(succeeded(rpmem_close(again)));
    EXPECT_FALSE(record_says("alone_since"));
}

// The target cannot record that the program may go on alone. The first write fails, and so must all
// that follow: the replica still lacks what it lacked.
TEST_F(AloneSlowly, WithoutTheRecordNoWriteFollows) {
    RPMEMpool* const again = opened_after_going_on_alone(28);
    const fs::path part0 = directory() / "part0";
    if (!fix_attributes(part0, true)) {
        rpmem_close(again);
        GTEST_SKIP() << "no file can be made immutable here";
    }
    const auto before = part(0);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(rpmem_persist(again, 8192, 8, 0, 0), -1) << i;
    EXPECT_TRUE(part(0) == before);
    ASSERT_TRUE(fix_attributes(part0, false));
    EXPECT_TRUE(succeeded(rpmem_persist(again, 8192, 8, 0, 0)));
    ASSERT_TRUE(joins(again));
    expect_replicated(header_size, local.size() - header_size);
    EXPECT_TRUE(succeeded(rpmem_close(again)));
}

// libpmemobj unmaps its memory before rpmem_close(). Here another mapping takes its place, and the
// close waits for the join.
TEST_F(AloneRestored, MemoryThatWasUnmappedIsNotSent) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(23);
    ASSERT_TRUE(succeeded(persist_all(pool)));
    const std::vector<std::byte> before(local.data(), local.data() + local.size());
    void* const other = ::mmap(local.data(), local.size(), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(other, local.data());
    std::memset(other, 'X', local.size());
    set_daemon("");
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_FALSE(record_says("catching_up_since"));
    EXPECT_FALSE(record_says("alone_since"));
    EXPECT_TRUE(
        std::equal(before.begin() + header_size, before.end(), part(0).begin() + header_size));
    EXPECT_EQ(local.data()[header_size], std::byte('X')) << "the program has lost bytes";
}

// The target records the end of each session, which is no change of its parts by somebody else.
TEST_F(AloneRestored, APausedReplicaIsNotCompared) {
    RPMEMpool* const pool = filled();
    outlast_the_daemon();
    const std::string each = std::string(variable("RPMEM_TEST_CTL")) + " %s " +
                             std::to_string(::getpid()) + ":pool.set >/dev/null";
    const auto steer = [](std::string command, const char* verb) {
        return std::system(command.replace(command.find("%s"), 2, verb).c_str());
    };
    ASSERT_EQ(steer(each, "pause"), 0);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    outlast_the_daemon();
    const std::size_t logged = library_log().size();
    ASSERT_EQ(steer(each, "resume"), 0);
    ASSERT_TRUE(joins(pool));
    EXPECT_FALSE(contains(library_log().substr(logged), "its parts were changed"));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The target cannot write its files for a while. Calls are replicated in the meantime.
TEST_F(AloneSlowly, TheRecordIsTriedAgain) {
    RPMEMpool* const pool = filled();
    take_away();
    local.fill(26);
    EXPECT_TRUE(succeeded(rpmem_persist(pool, mebibyte, mebibyte, 0, 0)));
    set_daemon("");
    ASSERT_TRUE(gets_hidden());
    const rlimit nothing{0, RLIM_INFINITY};
    const rlimit no_limit{RLIM_INFINITY, RLIM_INFINITY};
    ASSERT_EQ(::prlimit(daemon_process(), RLIMIT_FSIZE, &nothing, nullptr), 0);
    ASSERT_TRUE(joins(pool));
    local.fill(27);
    EXPECT_TRUE(succeeded(persist_all(pool)));
    expect_replicated(header_size, local.size() - header_size);
    // Enough for several attempts. Nothing shows them: the daemon cannot write its log either.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_TRUE(record_says("catching_up_since"));
    EXPECT_EQ(first_page(), hidden);
    ASSERT_EQ(::prlimit(daemon_process(), RLIMIT_FSIZE, &no_limit, nullptr), 0);
    EXPECT_TRUE(record_gets_in_sync());
    EXPECT_NE(first_page(), hidden);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// The thread may be in a transfer or a pause.
TEST_F(AloneSlowly, CloseEndsACatchUp) {
    RPMEMpool* const pool = filled();
    take_away();
    EXPECT_TRUE(succeeded(persist_all(pool)));
    set_daemon("");
    ASSERT_TRUE(gets_inconsistent());
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_TRUE(succeeded(persist_all(pool))); // so that 4 s more are not enough
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(10));
    EXPECT_TRUE(contains(library_log(), "is closed without its replica"));
    EXPECT_TRUE(record_says("catching_up_since"));
}

// With an RPMEM_RECONNECT_TIMEOUT of 0 and an RPMEM_OPERATION_TIMEOUT of 1 s, a target that is
// alive and does not respond is left at once.
class AloneAtOnce : public Alone {};

TEST_F(AloneAtOnce, AStoppedTargetIsLeft) {
    RPMEMpool* const pool = filled();
    stop_daemon();
    local.fill(11);
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(rpmem_persist(pool, 8192, 100, 0, 0)));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(10));
    ASSERT_TRUE(joins(pool)); // the next daemon ends the stopped one
    expect_replicated(8192, 100);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
