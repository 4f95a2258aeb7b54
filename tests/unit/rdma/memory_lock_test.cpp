#include "common/rdma/memory_lock.hpp"
#include "tests/unit/rdma/in_a_child.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rpmem::rdma {
namespace {

constexpr std::uint64_t page = 4096;

LockLimit limit_of(std::uint64_t soft, std::uint64_t hard, std::uint64_t used = 0) {
    return {soft, hard, used, false, page};
}

TEST(MemoryLock, CountsWholePages) {
    EXPECT_EQ(judge_lock(limit_of(page, page), 0, page), LockVerdict::fits);
    EXPECT_EQ(judge_lock(limit_of(page, page), 0, 1), LockVerdict::fits);
    EXPECT_EQ(judge_lock(limit_of(page, page), 0, page + 1), LockVerdict::too_much);
    EXPECT_EQ(judge_lock(limit_of(page, page), page - 1, 2), LockVerdict::too_much);
    EXPECT_EQ(judge_lock(limit_of(2 * page, 2 * page), page - 1, 2), LockVerdict::fits);
    // Parts of pages at the end of a limit are of no use.
    EXPECT_EQ(judge_lock(limit_of(2 * page - 1, 2 * page - 1), 0, 2 * page), LockVerdict::too_much);
}

TEST(MemoryLock, CountsWhatIsInUse) {
    EXPECT_EQ(judge_lock(limit_of(4 * page, 4 * page, 3 * page), 0, page), LockVerdict::fits);
    EXPECT_EQ(judge_lock(limit_of(4 * page, 4 * page, 3 * page), 0, page + 1),
              LockVerdict::too_much);
    EXPECT_EQ(judge_lock(limit_of(page, page, 2 * page), 0, 1), LockVerdict::too_much);
}

TEST(MemoryLock, KnowsWhatRaisingHelps) {
    EXPECT_EQ(judge_lock(limit_of(page, 2 * page), 0, 2 * page), LockVerdict::fits_if_raised);
    EXPECT_EQ(judge_lock(limit_of(page, LockLimit::unlimited), 0, std::uint64_t{1} << 46),
              LockVerdict::fits_if_raised);
    EXPECT_EQ(judge_lock(limit_of(page, 2 * page), 0, 2 * page + 1), LockVerdict::too_much);
}

TEST(MemoryLock, HasNoLimitWithTheCapability) {
    LockLimit limit = limit_of(0, 0);
    limit.exempt = true;
    EXPECT_EQ(judge_lock(limit, 0, std::uint64_t{1} << 46), LockVerdict::fits);
}

TEST(MemoryLock, TellsBothNumbersAndTheLineToWrite) {
    const std::string text =
        explain_lock_limit(limit_of(65536, 131072, 8192), 0, std::uint64_t{1} << 20, "peter");
    EXPECT_NE(text.find("RDMA needs 1056768 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("8192 of them in use already"), std::string::npos) << text;
    EXPECT_NE(text.find("user peter is 65536 bytes (soft) and 131072 bytes (hard)"),
              std::string::npos)
        << text;
    // In KiB: what is needed, with room for the lanes, in whole MiB.
    EXPECT_NE(text.find("'peter - memlock 67584' into /etc/security/limits.conf"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("LimitMEMLOCK=66M"), std::string::npos) << text;
}

TEST(MemoryLock, ReadsTheLimitsOfTheProcess) {
    rlimit set{};
    ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &set), 0);
    const LockLimit limit = read_lock_limit();
    EXPECT_EQ(limit.soft, set.rlim_cur == RLIM_INFINITY ? LockLimit::unlimited : set.rlim_cur);
    EXPECT_EQ(limit.hard, set.rlim_max == RLIM_INFINITY ? LockLimit::unlimited : set.rlim_max);
    EXPECT_EQ(limit.page, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_EQ(limit.used, 0U); // this process uses no device
}

TEST(MemoryLock, RaisesTheSoftLimitWhenThatIsEnough) {
    EXPECT_EQ(status_of_plain_user([] {
                  const rlimit narrow{page, 4 * page};
                  if (::setrlimit(RLIMIT_MEMLOCK, &narrow) != 0 || read_lock_limit().exempt)
                      return 1;
                  const auto made = make_room_to_lock(nullptr, 3 * page);
                  if (!made || *made != LockVerdict::fits_if_raised)
                      return 2;
                  if (read_lock_limit().soft != 4 * page)
                      return 3;
                  const auto again = make_room_to_lock(nullptr, 3 * page);
                  return again && *again == LockVerdict::fits ? 0 : 4;
              }),
              0);
}

TEST(MemoryLock, RefusesWhatTheHardLimitForbidsAndChangesNothing) {
    EXPECT_EQ(status_of_plain_user([] {
                  const rlimit narrow{page, 4 * page};
                  if (::setrlimit(RLIMIT_MEMLOCK, &narrow) != 0)
                      return 1;
                  const auto made = make_room_to_lock(nullptr, 5 * page);
                  if (made || made.error().code != ENOMEM)
                      return 2;
                  if (made.error().text.find("16384 bytes (hard)") == std::string::npos)
                      return 3;
                  return read_lock_limit().soft == page ? 0 : 4;
              }),
              0);
}

} // namespace
} // namespace rpmem::rdma
