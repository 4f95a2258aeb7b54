// SPDX-License-Identifier: BSD-3-Clause
// A lane of the library over protocol 0.1 that is connected to a recording target, with the pool
// that it replicates.
#pragma once

#include "common/base/io.hpp"
#include "common/transport/fabric/connect.hpp"
#include "librpmem/lanes/frame_lane.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/support/recording_target.hpp"

namespace rpmem::test {

class RecordedLane {
public:
    // TIME is the operation timeout. MAX_STRICT is DirectRanges::strict.
    RecordedLane(bool appliance, std::size_t pool_size, bool slow_target = false,
                 std::chrono::milliseconds time = fabric_timeout,
                 std::size_t max_strict = initiator::DirectRanges{}.strict)
        : target_({.pool_size = pool_size, .is_slow = slow_target}), pool_(pool_size),
          end_(value_of(fabric::find_to_connect(fabric::ProviderKind::sockets, loopback,
                                                std::to_string(target_.port()),
                                                {queue_size, queue_size}))),
          lost_(value_of(Event::make())), lane_(open(appliance, time, max_strict)) {}

    [[nodiscard]] RecordingTarget& target() { return target_; }
    [[nodiscard]] const RecordingTarget& target() const { return target_; }
    [[nodiscard]] initiator::FrameLane& lane() { return *lane_; }
    // Returns the pool of the initiator.
    [[nodiscard]] std::vector<std::byte>& pool() { return pool_; }

private:
    static constexpr std::size_t queue_size = 64;

    std::unique_ptr<initiator::FrameLane> open(bool appliance, std::chrono::milliseconds time,
                                               std::size_t max_strict) {
        auto opened = value_of(transport::connect_lane_of_0_1(
            0,
            {.domain = end_.domain,
             .provider = end_.provider,
             .events = *end_.events,
             .spin_time = std::chrono::microseconds(0),
             .pool = {.memory = pool_,
                      .remote =
                          fabric::RemoteAddress{target_.remote_address(), target_.remote_key()}},
             .queue = std::min(end_.provider.queues.send, queue_size),
             .max_payload = 0},
            "lane 0", {fabric_timeout, {lost_.fd(), [] { return false; }}}));
        const wire::LaneTerms terms{.credits = opened.credits,
                                    .pool_size = pool_.size(),
                                    .direct = true,
                                    .appliance = appliance};
        return std::make_unique<initiator::FrameLane>(
            std::move(opened.connection), std::move(opened.group), terms, pool_.data(),
            initiator::WaitInterrupt{lost_.fd(), [] { return false; }}, time,
            initiator::DirectRanges{.relaxed = 0, .strict = max_strict});
    }

    RecordingTarget target_;
    std::vector<std::byte> pool_;
    BareEnd end_;
    Event lost_;
    std::unique_ptr<initiator::FrameLane> lane_;
};

} // namespace rpmem::test
