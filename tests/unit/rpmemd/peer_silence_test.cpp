// SPDX-License-Identifier: BSD-3-Clause
// When a silent peer is taken for dead. Time in which the daemon was stopped, or its machine
// asleep, must not count: the peer may have spoken meanwhile.
#include "rpmemd/peer_silence.hpp"

#include <gtest/gtest.h>

namespace rpmem::target {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(PeerSilence, IsOverAfterItsLimit) {
    PeerSilence silence(milliseconds(1000));
    for (int turn = 0; turn < 4; ++turn) {
        EXPECT_FALSE(silence.is_over());
        const milliseconds wanted = silence.next_wait();
        EXPECT_EQ(wanted, milliseconds(250));
        silence.waited(wanted, wanted);
    }
    EXPECT_TRUE(silence.is_over());
    silence.heard();
    EXPECT_FALSE(silence.is_over());
}

TEST(PeerSilence, TimeInWhichTheDaemonWasStoppedDoesNotCount) {
    PeerSilence silence(milliseconds(1000));
    silence.waited(silence.next_wait(), hours(1));
    EXPECT_FALSE(silence.is_over());
    EXPECT_EQ(silence.next_wait(), milliseconds(250));
    silence.waited(milliseconds(250), milliseconds(10)); // woken early by another event
    silence.waited(milliseconds(250), milliseconds(250));
    silence.waited(milliseconds(250), milliseconds(250));
    EXPECT_FALSE(silence.is_over());
    EXPECT_EQ(silence.next_wait(), milliseconds(240)) << "never beyond the limit";
}

} // namespace
} // namespace rpmem::target
