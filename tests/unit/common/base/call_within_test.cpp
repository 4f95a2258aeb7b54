// SPDX-License-Identifier: BSD-3-Clause
// Tests call_within() with real threads. Calls that block on a latch stand for getaddrinfo(3) with
// an unresponsive name server. The test fails if the caller waits beyond its timeout, if calls that
// timed out do not count against the limit or count for ever, or if a child of fork(2) inherits the
// count of its parent.
#include "common/base/call_within.hpp"
#include "tests/support/expect.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <latch>

namespace rpmem {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds test_timeout(20000);

TEST(CallWithin, ReturnsWhenTheCallHas) {
    const auto result = std::make_shared<int>(0);
    ASSERT_TRUE(test::succeeded(call_within(test_timeout, [result] { *result = 7; })));
    EXPECT_EQ(*result, 7);
    EXPECT_EQ(result.use_count(), 1) << "the thread has ended";
}

TEST(CallWithin, ACallThatThrowsHasEnded) {
    EXPECT_TRUE(
        test::succeeded(call_within(test_timeout, [] { throw std::runtime_error("no memory"); })));
}

TEST(CallWithin, UnfinishedCallsHaveALimitAndEndByThemselves) {
    const auto release = std::make_shared<std::latch>(1);
    const auto ended = std::make_shared<std::latch>(max_unfinished_calls);
    const auto block = [release, ended] {
        release->wait();
        ended->count_down();
    };
    for (int i = 0; i < max_unfinished_calls; ++i)
        EXPECT_TRUE(
            test::failed(call_within(milliseconds(1), block), ETIMEDOUT, "no answer within 1 ms"));
    EXPECT_TRUE(test::failed(call_within(test_timeout, [] {}), EAGAIN, "16 earlier requests"));

#ifndef __SANITIZE_THREAD__ // ThreadSanitizer ends a child that starts a thread
    // The child has none of the blocked threads, so its limit is not reached.
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(call_within(test_timeout, [] {}) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
#endif

    release->count_down();
    ended->wait();
    // A thread stops counting a moment after its call has returned.
    while (!call_within(test_timeout, [] {}))
        std::this_thread::yield();
}

} // namespace
} // namespace rpmem
