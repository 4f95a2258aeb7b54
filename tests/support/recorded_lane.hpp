// A lane of the library that is connected to a recording target, and the pool that it replicates.
#pragma once

#include "base/io.hpp"
#include "lanes/lane.hpp"
#include "lanes/messages.hpp"
#include "support/bare_end.hpp"
#include "support/recording_target.hpp"

#include <functional>
#include <limits>

namespace rpmem::test {

// What a lane does depends on what the two ends agreed on and on what moves the data.
struct LaneWay {
    wire::MessageRules rules;
    std::size_t inline_worth; // as LaneLimits has them
    std::size_t strict_inline;
    std::size_t gathered_size;
};

inline constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

class RecordedLane {
public:
    // TIME: for which an operation waits.
    RecordedLane(const LaneWay& way, std::size_t pool_size, bool slow_target = false,
                 std::chrono::milliseconds time = fabric_patience)
        : target_({.pool_size = pool_size, .rules = way.rules, .is_slow = slow_target}),
          pool_(pool_size),
          end_(value_of(fabric::find_to_connect(fabric::ProviderKind::tcp, loopback,
                                                std::to_string(target_.port()),
                                                {queue_size, queue_size}))),
          lost_(value_of(Event::make())), lane_(open(way, time)) {
        if (!lane_->endpoint().connect(end_.provider.info->dest_addr))
            throw std::runtime_error("the lane cannot be connected");
        end_.await(fabric::ConnectionEvent::Kind::connected, [] {});
        lane_->become_ready();
    }

    [[nodiscard]] RecordingTarget& target() { return target_; }
    [[nodiscard]] const RecordingTarget& target() const { return target_; }
    [[nodiscard]] Lane& lane() { return *lane_; }
    // Of the initiator.
    [[nodiscard]] std::vector<std::byte>& pool() { return pool_; }

private:
    static constexpr std::size_t queue_size = 64;

    std::unique_ptr<Lane> open(const LaneWay& way, std::chrono::milliseconds time) {
        const fabric::Provider& provider = end_.provider;
        const PoolMemory memory{.local = pool_.data(),
                                .size = pool_.size(),
                                .local_descriptor = nullptr,
                                .remote = {target_.remote_address(), target_.remote_key()},
                                .messages_only = false};
        const LaneLimits limits{.queue_size = std::min(provider.queues.send, queue_size),
                                .max_transfer = provider.max_transfer,
                                .inject_size = provider.inject_size,
                                .inline_worth = way.inline_worth,
                                .strict_inline = way.strict_inline,
                                .gathered_size = way.gathered_size,
                                .messages = way.rules,
                                .local_registration = provider.local_registration,
                                .wait = {std::chrono::microseconds(0), time, true}};
        return value_of(Lane::open(end_.domain, provider, *end_.events, 0, memory, limits,
                                   {lost_.fd(), [] { return false; }}));
    }

    RecordingTarget target_;
    std::vector<std::byte> pool_;
    BareEnd end_;
    Event lost_;
    std::unique_ptr<Lane> lane_;
};

} // namespace rpmem::test
