// SPDX-License-Identifier: BSD-3-Clause
// Tests the timeout for messages of the peer, with durations instead of a clock. The test fails if
// the timeout ends too early or too late, or if time counts during which the daemon was stopped or
// its machine suspended, because the peer may have sent messages meanwhile.
#include "rpmemd/session/peer_timeout.hpp"

#include <gtest/gtest.h>

namespace rpmem::target {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(PeerTimeout, IsOverAfterItsLimit) {
    PeerTimeout timeout(milliseconds(1000));
    for (int turn = 0; turn < 4; ++turn) {
        EXPECT_FALSE(timeout.is_over());
        const milliseconds wanted = timeout.next_wait();
        EXPECT_EQ(wanted, milliseconds(250));
        timeout.waited(wanted, wanted);
    }
    EXPECT_TRUE(timeout.is_over());
    timeout.restart();
    EXPECT_FALSE(timeout.is_over());
}

TEST(PeerTimeout, TimeInWhichTheDaemonWasStoppedDoesNotCount) {
    PeerTimeout timeout(milliseconds(1000));
    timeout.waited(timeout.next_wait(), hours(1));
    EXPECT_FALSE(timeout.is_over());
    EXPECT_EQ(timeout.next_wait(), milliseconds(250));
    timeout.waited(milliseconds(250), milliseconds(10)); // woken early by another event
    timeout.waited(milliseconds(250), milliseconds(250));
    timeout.waited(milliseconds(250), milliseconds(250));
    EXPECT_FALSE(timeout.is_over());
    EXPECT_EQ(timeout.next_wait(), milliseconds(240)) << "never beyond the limit";
}

} // namespace
} // namespace rpmem::target
