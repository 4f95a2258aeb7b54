// The target: the real listener and the real workers, and a control loop that has them in common.
#pragma once

#include "common/transport/tcp/listener.hpp"
#include "rpmemd/lanes/frame_worker.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/simulated_medium.hpp"
#include "tests/simulation/simulated_system.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::simulation {

// Random bytes of a world.
class SimulatedRandom final : public transport::Random {
public:
    // REPEATS: a fault, to see that it is found.
    explicit SimulatedRandom(World& world, bool repeats = false)
        : world_(world), repeats_(repeats) {}
    Result<> fill(std::span<std::byte> bytes) override;

private:
    World& world_;
    bool repeats_;
};

class Daemon final : private transport::LaneOwner {
public:
    // Whose connection this end of a link is; nothing: a stranger's.
    using WhoIs = std::function<std::optional<unsigned>(const Link&)>;

    Daemon(World& world, SimulatedSystem& system, const Plan& plan, SimulatedMedium& medium,
           std::span<std::byte> pool, const transport::ProofSession& session, Planted planted,
           WhoIs who_is);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    // Fibers: the control loop, and the workers.
    void start();
    // The session ends. WHY: before its time.
    void end(std::string why);
    // From now on the first worker does nothing, for longer than anybody waits.
    void make_deaf() { is_deaf_ = true; }

    // Why the session ended; empty: it has not, or in order.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] bool has_ended() const { return has_ended_; }
    // What a lane was granted with its welcome.
    [[nodiscard]] const wire::LaneCredits& credits(unsigned lane) const { return credits_[lane]; }

private:
    std::optional<transport::Refused> admit(const transport::LaneIdentity& identity) override;
    void take(const transport::LaneIdentity& identity, std::unique_ptr<transport::Stream> stream,
              std::string name, const wire::LaneCredits& credits) override;
    void control();
    void work(std::unique_ptr<target::FrameWorker>& worker);
    [[nodiscard]] int milliseconds_to_deadline() const;

    World& world_;
    SimulatedSystem& system_;
    const Plan& plan_;
    SimulatedMedium& medium_;
    std::span<std::byte> pool_;
    const transport::ProofSession& session_;
    Planted planted_;
    WhoIs who_is_;
    SimulatedRandom random_;
    int stop_;
    std::unique_ptr<transport::Listener> listener_;
    std::vector<std::unique_ptr<target::FrameWorker>> workers_;
    std::vector<wire::LaneCredits> credits_;
    std::vector<bool> in_use_;
    std::string problem_;
    bool has_ended_ = false;
    bool is_deaf_ = false;
};

} // namespace rpmem::simulation
