// SPDX-License-Identifier: BSD-3-Clause
// Waits for simulated connections on the simulated clock, like SocketGroup does for sockets.
#pragma once

#include "common/transport/transport.hpp"
#include "tests/simulation/simulated_system.hpp"

namespace rpmem::simulation {

class SimulatedGroup final : public transport::Group {
public:
    SimulatedGroup(World& world, SimulatedSystem& system, std::size_t buffer_size)
        : world_(world), system_(system), buffer_size_(buffer_size),
          buffer_(new std::byte[buffer_size]), tells_which_(world.random().chance(50)),
          looks_(world.random().chance(50) ? 30 : 0) {}

    Result<> add(transport::LaneConnection& connection) override {
        connection.receive_in({buffer_.get(), buffer_size_});
        members_.push_back(&connection);
        return {};
    }
    void remove(transport::LaneConnection& connection) override {
        std::erase(members_, &connection);
        std::erase(ready_, &connection);
    }
    // WAKE is a flag of the simulated system.
    transport::WaitResult wait(std::chrono::milliseconds limit, int wake) override {
        const auto time = static_cast<Time>(limit.count()) * millisecond;
        world_.take_turn();
        if (!std::exchange(is_waiting_, true)) {
            since_ = world_.now();
            if (world_.random().chance(looks_)) {
                ready_ = members_;
                return transport::WaitResult::look;
            }
        }
        while (world_.now() < since_ + time) {
            if (system_.is_raised(wake))
                return transport::WaitResult::woken;
            if (look())
                return transport::WaitResult::look;
            sleep_until(since_ + time);
        }
        return transport::WaitResult::timed_out;
    }
    [[nodiscard]] std::span<transport::LaneConnection* const> ready() const override {
        return ready_;
    }

private:
    [[nodiscard]] bool look() {
        ready_.clear();
        for (transport::LaneConnection* const connection : members_) {
            if (connection->fd() < 0)
                continue;
            const SimulatedSystem::End end = system_.end(connection->fd());
            if (end.link->is_readable(end.side) ||
                (connection->unsent() && end.link->is_writable(end.side)))
                ready_.push_back(connection);
        }
        const bool found = !ready_.empty();
        if (found && !tells_which_)
            ready_ = members_;
        return found;
    }
    void sleep_until(Time time) {
        std::vector<SimulatedSystem::End> watched;
        for (const transport::LaneConnection* const connection : members_)
            if (connection->fd() >= 0)
                watched.push_back(system_.end(connection->fd()));
        for (const SimulatedSystem::End& end : watched)
            end.link->add_waiter(end.side, world_.current());
        world_.block(time);
        for (const SimulatedSystem::End& end : watched)
            end.link->remove_waiter(end.side, world_.current());
    }

    World& world_;
    SimulatedSystem& system_;
    std::size_t buffer_size_;
    std::unique_ptr<std::byte[]> buffer_;
    std::vector<transport::LaneConnection*> members_;
    std::vector<transport::LaneConnection*> ready_;
    bool tells_which_; // report only ready connections, like epoll(7); else all if one is ready
    unsigned looks_;   // percent of the waits that do not sleep, like a wait that spins
    Time since_ = 0;
};

} // namespace rpmem::simulation
