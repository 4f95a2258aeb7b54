// SPDX-License-Identifier: BSD-3-Clause
// Waits for sockets: looks at all of them, then sleeps in poll(2); where there are many, epoll(7)
// does both.
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
    // BUFFER_SIZE: bytes that one call receives at most, of any connection.
    SocketGroup(std::chrono::microseconds spin_time, std::size_t buffer_size)
        : policy_(spin_time), buffer_size_(buffer_size) {}

    Result<> add(Connection& connection) override;
    void remove(Connection& connection) override;
    WaitResult wait(std::chrono::milliseconds limit, int wake) override;
    [[nodiscard]] std::span<Connection* const> ready() const override { return ready_; }

private:
    void wait_has_ended() override { policy_.ended(since_, Clock::now()); }

    using Clock = std::chrono::steady_clock;

    // To look at so many takes no longer than to ask epoll(7) which have something.
    static constexpr std::size_t few = 4;

    struct Member {
        Connection* connection;
        bool awaits_room; // as epoll(7) was told
    };
    [[nodiscard]] bool is_few() const { return members_.size() <= few; }
    void mark_all_ready();
    WaitResult look_or_sleep(int milliseconds, int wake);
    WaitResult poll_few(int milliseconds, int wake);
    WaitResult ask_epoll(int milliseconds, int wake);
    Result<> use_epoll();
    bool tell_epoll(int operation, Connection* connection, int fd, bool awaits_room) const;

    SpinPolicy policy_;
    std::size_t buffer_size_;
    std::unique_ptr<std::byte[]> buffer_;
    std::vector<Member> members_;
    std::vector<Connection*> ready_;
    UniqueFd epoll_; // from the first moment on when they were not few
    int epoll_wake_ = -1;
    Clock::time_point since_{};      // of the wait that is under way
    Clock::time_point deaf_since_{}; // has not looked at WAKE since
    bool slept_ = false;
};

} // namespace rpmem::transport
