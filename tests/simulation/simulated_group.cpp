#include "tests/simulation/simulated_group.hpp"

#include <algorithm>
#include <utility>

namespace rpmem::simulation {

using transport::Connection;
using transport::WaitResult;

SimulatedGroup::SimulatedGroup(World& world, SimulatedSystem& system, std::size_t buffer_size)
    : world_(world), system_(system), buffer_size_(buffer_size),
      buffer_(new std::byte[buffer_size]), tells_which_(world.random().chance(50)),
      looks_(world.random().chance(50) ? 30 : 0) {}

Result<> SimulatedGroup::add(Connection& connection) {
    connection.receive_in({buffer_.get(), buffer_size_});
    members_.push_back(&connection);
    return {};
}

void SimulatedGroup::remove(Connection& connection) {
    std::erase(members_, &connection);
    std::erase(ready_, &connection);
}

WaitResult SimulatedGroup::wait(std::chrono::milliseconds limit, int wake) {
    const auto time = static_cast<Time>(limit.count()) * millisecond;
    world_.take_turn();
    if (!std::exchange(is_waiting_, true)) {
        since_ = world_.now();
        if (world_.random().chance(looks_)) {
            ready_ = members_;
            return WaitResult::look;
        }
    }
    while (world_.now() < since_ + time) {
        if (system_.is_raised(wake))
            return WaitResult::woken;
        if (look())
            return WaitResult::look;
        sleep_until(since_ + time);
    }
    return WaitResult::timed_out;
}

bool SimulatedGroup::look() {
    ready_.clear();
    for (Connection* const connection : members_) {
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

void SimulatedGroup::sleep_until(Time time) {
    const auto tell = [this](Fiber* fiber) {
        for (const Connection* const connection : members_)
            if (connection->fd() >= 0) {
                const SimulatedSystem::End end = system_.end(connection->fd());
                end.link->set_waiter(end.side, fiber);
            }
    };
    tell(world_.current());
    world_.block(time);
    tell(nullptr);
}

} // namespace rpmem::simulation
