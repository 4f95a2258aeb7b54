// SPDX-License-Identifier: BSD-3-Clause
// The simulated target: the real listener and the real workers of rpmemd, and a control loop that
// connects them. A connection without a secret that is accepted as a lane is a finding.
#pragma once

#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/listener.hpp"
#include "rpmemd/lanes/frame_worker.hpp"
#include "tests/simulation/forwarding_connection.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/simulated_group.hpp"
#include "tests/simulation/simulated_medium.hpp"
#include "tests/simulation/simulated_system.hpp"

namespace rpmem::simulation {

// Random bytes from the seed of the world.
class SimulatedRandom final : public transport::Random {
public:
    // REPEATS plants a fault: all bytes are the same.
    explicit SimulatedRandom(World& world, bool repeats = false)
        : world_(world), repeats_(repeats) {}
    Result<> fill(std::span<std::byte> bytes) override {
        for (std::byte& each : bytes)
            each = repeats_ ? std::byte{1} : static_cast<std::byte>(world_.random().next());
        return {};
    }

private:
    World& world_;
    bool repeats_;
};

template <typename T>
T value_of(Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().text);
    return std::move(*result);
}

class Daemon final : private transport::LaneOwner {
public:
    // Returns the lane of a link, or nothing for an unauthenticated connection.
    using WhoIs = std::function<std::optional<unsigned>(const Link&)>;

    Daemon(World& world, SimulatedSystem& system, const Plan& plan, SimulatedMedium& medium,
           std::span<std::byte> pool, const transport::ProofSession& session, Planted planted,
           WhoIs who_is)
        : world_(world), system_(system), plan_(plan), medium_(medium), pool_(pool),
          session_(session), planted_(planted), who_is_(std::move(who_is)),
          random_(world, planted == Planted::same_nonce), stop_(system.open_flag()),
          listener_(value_of(transport::Listener::listen(
              {.addresses = {"127.0.0.1"}, .peer_timeout = std::chrono::seconds(2)}, random_))),
          credits_(max_lanes), in_use_(max_lanes) {
        for (unsigned i = 0; i < plan.workers; ++i)
            workers_.push_back(value_of(target::FrameWorker::make(
                std::make_unique<SimulatedGroup>(world, system, plan.target_buffer),
                [this](unsigned lane, const std::string&, std::string error_text) {
                    in_use_[lane] = false;
                    if (!error_text.empty())
                        end(std::move(error_text));
                })));
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    // Starts fibers for the control loop and the workers.
    void start() {
        world_.start("daemon", [this] { control(); });
        for (auto& worker : workers_)
            world_.start("worker", [this, &worker] { work(worker); });
    }
    // Ends the session. WHY is empty for a clean end.
    void end(std::string why) {
        if (has_ended_)
            return;
        has_ended_ = true;
        error_text_ = std::move(why);
        world_.note("the session ends");
        system_.set_flag(stop_, true);
    }
    // From now on the first worker does nothing, for longer than any timeout.
    void make_deaf() { is_deaf_ = true; }

    // The reason why the session ended. It is empty before the end and after a clean end.
    [[nodiscard]] const std::string& error_text() const { return error_text_; }
    [[nodiscard]] bool has_ended() const { return has_ended_; }
    // The credits that a lane was granted with its welcome.
    [[nodiscard]] const wire::LaneCredits& credits(unsigned lane) const { return credits_[lane]; }

private:
    static constexpr Time longer_than_anybody_waits = 600 * second;

    std::optional<transport::Refused> admit(const transport::LaneIdentity& identity) override {
        if (in_use_[identity.lane])
            return transport::Refused{.why = transport::RefusalCode::lane_in_use};
        in_use_[identity.lane] = true;
        return std::nullopt;
    }
    void take(const transport::LaneIdentity& identity, std::unique_ptr<transport::Stream> stream,
              std::string name, const wire::LaneCredits& credits) override {
        const auto owner = who_is_(*system_.end(stream->fd()).link);
        world_.note("takes lane {}", identity.lane);
        if (!owner)
            world_.find(fmt::format("an unauthenticated connection was admitted as lane {}",
                                    identity.lane));
        else if (*owner != identity.lane)
            world_.find(fmt::format("lane {} was let in as lane {}", *owner, identity.lane));
        credits_[identity.lane] = credits;
        std::unique_ptr<transport::LaneConnection> served =
            std::make_unique<transport::FrameConnection>(std::move(stream), std::move(name));
        served = std::make_unique<WatchedConnection>(std::move(served), medium_);
        if (planted_ != Planted::none)
            served = std::make_unique<PlantedConnection>(std::move(served), planted_);
        const auto& worker = workers_[identity.lane % workers_.size()];
        if (planted_ == Planted::lost_wake && world_.random().chance(20))
            system_.lose_next_flag();
        worker->add(std::make_unique<target::ServedLane>(identity.lane, std::move(served),
                                                         plan_.terms_for(credits), pool_.data(),
                                                         medium_.medium(), *worker->counters()));
    }
    // Does the same as rpmemd's control loop and TcpLaneServer.
    void control() {
        while (!has_ended_) {
            std::array<pollfd, 2> fds{{{listener_->fd(), POLLIN, 0}, {stop_, POLLIN, 0}}};
            static_cast<void>(::poll(fds.data(), fds.size(), milliseconds_to_deadline()));
            if (!has_ended_)
                listener_->handle(session_, nullptr, *this, std::chrono::steady_clock::now());
        }
        if (!error_text_.empty())
            for (const auto& worker : workers_)
                if (worker)
                    worker->end(error_text_);
        listener_.reset();
        for (const auto& worker : workers_)
            if (worker)
                worker->stop();
    }
    void work(std::unique_ptr<target::FrameWorker>& worker) {
        do
            if (&worker == &workers_.front() && std::exchange(is_deaf_, false))
                world_.sleep(longer_than_anybody_waits);
        while (worker->turn());
        worker.reset();
    }
    [[nodiscard]] int milliseconds_to_deadline() const {
        const auto deadline = listener_->deadline();
        if (!deadline || planted_ == Planted::no_deadline)
            return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            *deadline - std::chrono::steady_clock::now());
        return static_cast<int>(std::max<long long>(left.count(), 0));
    }

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
    std::string error_text_;
    bool has_ended_ = false;
    bool is_deaf_ = false;
};

} // namespace rpmem::simulation
