// SPDX-License-Identifier: BSD-3-Clause
// Tests judge_lock() with numbers, make_room_to_lock() with the real limits of a child process, and
// judge_paging() with invented capabilities. The test fails if pages are counted wrongly, if the
// soft limit is not raised where that is enough, if a refused request changes it, or if the error
// does not state both limits and the line that raises them.
#include "common/rdma/memory_lock.hpp"
#include "common/rdma/on_demand_paging.hpp"
#include "tests/support/expect.hpp"
#include "tests/unit/common/rdma/in_a_child.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace rpmem::rdma {
namespace {

constexpr std::uint64_t page = 4096;

LockLimit limit_of(std::uint64_t soft, std::uint64_t hard, std::uint64_t used = 0) {
    return {soft, hard, used, false, page};
}

TEST(MemoryLock, CountsWholePagesAndWhatIsInUse) {
    struct Case {
        LockLimit limit;
        std::uint64_t address, size;
        LockVerdict verdict;
    };
    constexpr auto fits = LockVerdict::fits;
    constexpr auto raised = LockVerdict::fits_if_raised;
    constexpr auto too_much = LockVerdict::too_much;
    constexpr std::uint64_t huge = std::uint64_t{1} << 46;
    const Case cases[] = {
        {limit_of(page, page), 0, page, fits},
        {limit_of(page, page), 0, 1, fits},
        {limit_of(page, page), 0, page + 1, too_much},
        {limit_of(page, page), page - 1, 2, too_much},
        {limit_of(2 * page, 2 * page), page - 1, 2, fits},
        // A limit counts in whole pages, rounded down.
        {limit_of(2 * page - 1, 2 * page - 1), 0, 2 * page, too_much},
        {limit_of(4 * page, 4 * page, 3 * page), 0, page, fits},
        {limit_of(4 * page, 4 * page, 3 * page), 0, page + 1, too_much},
        {limit_of(page, page, 2 * page), 0, 1, too_much},
        {limit_of(page, 2 * page), 0, 2 * page, raised},
        {limit_of(page, LockLimit::unlimited), 0, huge, raised},
        {limit_of(page, 2 * page), 0, 2 * page + 1, too_much},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(&each - cases);
        EXPECT_EQ(judge_lock(each.limit, each.address, each.size), each.verdict);
    }
}

TEST(MemoryLock, HasNoLimitWithTheCapability) {
    LockLimit limit = limit_of(0, 0);
    limit.exempt = true;
    EXPECT_EQ(judge_lock(limit, 0, std::uint64_t{1} << 46), LockVerdict::fits);
}

TEST(MemoryLock, TellsBothNumbersAndTheLineToWrite) {
    const std::string text =
        explain_lock_limit(limit_of(65536, 131072, 8192), 0, std::uint64_t{1} << 20, "peter");
    EXPECT_TRUE(test::contains(text, "RDMA needs 1056768 bytes"));
    EXPECT_TRUE(test::contains(text, "8192 of them in use already"));
    EXPECT_TRUE(test::contains(text, "user peter is 65536 bytes (soft) and 131072 bytes (hard)"));
    // The new limit includes 64 MiB for the lanes and is rounded up to whole MiB.
    EXPECT_TRUE(test::contains(text, "'peter - memlock 67584' into /etc/security/limits.conf"));
    EXPECT_TRUE(test::contains(text, "LimitMEMLOCK=66M"));
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
    EXPECT_EQ(status_of(
                  [] {
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
                  },
                  true),
              0);
}

TEST(MemoryLock, RefusesWhatTheHardLimitForbidsAndChangesNothing) {
    EXPECT_EQ(status_of(
                  [] {
                      const rlimit narrow{page, 4 * page};
                      if (::setrlimit(RLIMIT_MEMLOCK, &narrow) != 0)
                          return 1;
                      const auto made = make_room_to_lock(nullptr, 5 * page);
                      if (made || made.error().code != ENOMEM)
                          return 2;
                      if (made.error().text.find("16384 bytes (hard)") == std::string::npos)
                          return 3;
                      return read_lock_limit().soft == page ? 0 : 4;
                  },
                  true),
              0);
}

constexpr std::uint32_t all_but_read =
    IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE;
constexpr std::uint32_t all = all_but_read | IBV_ODP_SUPPORT_READ;

ibv_odp_caps capabilities_of(std::uint64_t general, std::uint32_t reliable) {
    ibv_odp_caps capabilities{};
    capabilities.general_caps = general;
    capabilities.per_transport_caps.rc_odp_caps = reliable;
    return capabilities;
}

TEST(OnDemandPaging, NeedsAllThatLanesDo) {
    EXPECT_TRUE(judge_paging("mlx5_0", capabilities_of(IBV_ODP_SUPPORT, all)).can_page);
    const PagingDevice none = judge_paging("rxe0", capabilities_of(0, all));
    EXPECT_FALSE(none.can_page);
    EXPECT_EQ(none.why_not, "it has no on-demand paging");
    const PagingDevice some =
        judge_paging("mlx5_0", capabilities_of(IBV_ODP_SUPPORT, all_but_read));
    EXPECT_FALSE(some.can_page);
    EXPECT_EQ(some.why_not, "its on-demand paging does not support: read");
}

TEST(OnDemandPaging, OfADeviceThatIsNotThere) {
    const PagingDevice device = paging_device("nosuch0");
    EXPECT_FALSE(device.can_page);
    EXPECT_EQ(device.why_not, "there is no such device");
}

} // namespace
} // namespace rpmem::rdma
