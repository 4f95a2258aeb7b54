// Waits for simulated connections on the simulated clock, as SocketGroup does for sockets.
#pragma once

#include "common/transport/transport.hpp"
#include "tests/simulation/simulated_system.hpp"

#include <memory>
#include <vector>

namespace rpmem::simulation {

class SimulatedGroup final : public transport::Group {
public:
    SimulatedGroup(World& world, SimulatedSystem& system, std::size_t buffer_size);

    Result<> add(transport::Connection& connection) override;
    void remove(transport::Connection& connection) override;
    // WAKE is a flag.
    transport::WaitResult wait(std::chrono::milliseconds limit, int wake) override;
    [[nodiscard]] std::span<transport::Connection* const> ready() const override { return ready_; }
    void progressed() override { is_waiting_ = false; }

private:
    [[nodiscard]] bool look();
    void sleep_until(Time time);

    World& world_;
    SimulatedSystem& system_;
    std::size_t buffer_size_;
    std::unique_ptr<std::byte[]> buffer_;
    std::vector<transport::Connection*> members_;
    std::vector<transport::Connection*> ready_;
    bool tells_which_; // as epoll(7) does; else all are worth a look when one of them is
    unsigned looks_;   // percent of the waits that do not sleep, as where one spins
    Time since_ = 0;
    bool is_waiting_ = false;
};

} // namespace rpmem::simulation
