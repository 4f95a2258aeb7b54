// SPDX-License-Identifier: BSD-3-Clause
// A real daemon with an initiator that has agreed on the hello, and plain sockets as its lanes.
#pragma once

#include "tests/hostile/control_session.hpp"
#include "tests/hostile/raw_lane.hpp"

namespace rpmem::hostile {

// A daemon and its initiator.
struct Peer {
    explicit Peer(const PoolDirectory& directory, const std::vector<std::string>& more = {},
                  const std::vector<std::string>& variables = {},
                  std::uint64_t capabilities = wire::all_capabilities)
        : daemon(with(directory.daemon_arguments(), more), directory.path(), loopback_connection,
                 wire::offer_value, variables),
          control(daemon, capabilities) {}

    static std::vector<std::string> with(std::vector<std::string> arguments,
                                         const std::vector<std::string>& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
    void take_pool(std::uint64_t generation = 0, const wire::TakeoverKey& key = {}) {
        EXPECT_EQ(control.log_in(generation, key), wire::Status::success);
        EXPECT_EQ(control.open(), wire::Status::success);
    }
    RawLane lane(std::uint32_t number = 0) { return {control.port(), control.proof(), number}; }
    void expect_killed() {
        const Ending ending = daemon.wait();
        EXPECT_TRUE(ending.by_signal);
        EXPECT_EQ(ending.status, SIGKILL);
    }
    // Expects that CLOSE ends the session cleanly.
    void expect_close() {
        EXPECT_EQ(control.close(), wire::Status::success);
        const Ending ending = daemon.wait();
        EXPECT_TRUE(ending.in_time && !ending.by_signal && ending.status == 0) << ending.error_text;
    }
    // Expects that the daemon ends and reports WORDS.
    void expect_end(const std::string& words) {
        const Ending ending = daemon.wait();
        EXPECT_TRUE(ending.in_time && !ending.by_signal);
        EXPECT_TRUE(test::contains(ending.error_text, words));
    }

    DaemonProcess daemon;
    ControlSession control;
};

} // namespace rpmem::hostile
