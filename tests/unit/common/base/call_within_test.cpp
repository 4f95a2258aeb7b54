// SPDX-License-Identifier: BSD-3-Clause
// A call that does not return, as getaddrinfo(3) with a name server that does not answer: the
// caller goes on at its deadline, the number of such calls has a limit, and nothing of them is left
// when they return at last.
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

#ifndef __SANITIZE_THREAD__ // it ends a child that starts a thread
    // A child has none of these threads.
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(call_within(test_timeout, [] {}) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
#endif

    release->count_down();
    ended->wait();
    // Each thread frees its place a moment after its call.
    while (!call_within(test_timeout, [] {}))
        std::this_thread::yield();
}

} // namespace
} // namespace rpmem
