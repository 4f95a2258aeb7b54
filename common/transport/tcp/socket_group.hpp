// SPDX-License-Identifier: BSD-3-Clause
// Waits for sockets. It polls all of them, and then sleeps in poll(2). A group with many sockets
// uses epoll(7) for both.
#pragma once

#include "common/base/unique_fd.hpp"
#include "common/transport/spin_policy.hpp"
#include "common/transport/transport.hpp"

#include <array>
#include <memory>
#include <vector>

namespace rpmem::transport {

class SocketGroup final : public Group {
public:
    // BUFFER_SIZE is the maximum number of bytes that one call receives from a connection.
    SocketGroup(std::chrono::microseconds spin_time, std::size_t buffer_size)
        : policy_(spin_time), buffer_size_(buffer_size) {}

    Result<> add(LaneConnection& connection) override;
    void remove(LaneConnection& connection) override;
    WaitResult wait(std::chrono::milliseconds limit, int wake) override;
    [[nodiscard]] std::span<LaneConnection* const> ready() const override { return ready_; }

private:
    void wait_has_ended() override { policy_.ended(since_, Clock::now()); }

    using Clock = std::chrono::steady_clock;

    // Polling this many sockets takes no longer than asking epoll(7) for the readable ones.
    static constexpr std::size_t few = 4;

    struct Member {
        LaneConnection* connection;
        bool awaits_room; // registered with epoll(7) for writing
    };
    [[nodiscard]] bool is_few() const { return members_.size() <= few; }
    void mark_all_ready();
    WaitResult look_or_sleep(int milliseconds, int wake);
    WaitResult poll_few(int milliseconds, int wake);
    WaitResult ask_epoll(int milliseconds, int wake);
    Result<> use_epoll();
    bool update_epoll(int operation, LaneConnection* connection, int fd, bool awaits_room) const;

    SpinPolicy policy_;
    std::size_t buffer_size_;
    std::unique_ptr<std::byte[]> buffer_;
    std::vector<Member> members_;
    std::vector<LaneConnection*> ready_;
    UniqueFd epoll_; // created when the number of sockets first exceeds `few`
    int epoll_wake_ = -1;
    Clock::time_point since_{};      // start of the current wait
    Clock::time_point deaf_since_{}; // when WAKE was last checked
    bool slept_ = false;
};

} // namespace rpmem::transport
