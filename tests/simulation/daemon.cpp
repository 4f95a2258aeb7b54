#include "tests/simulation/daemon.hpp"

#include "common/transport/tcp/frame_connection.hpp"
#include "tests/simulation/forwarding_connection.hpp"
#include "tests/simulation/planted_connection.hpp"
#include "tests/simulation/simulated_group.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace rpmem::simulation {
namespace {

constexpr Time longer_than_anybody_waits = 600 * second;

template <typename T>
T value_of(Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().text);
    return std::move(*result);
}

} // namespace

Result<> SimulatedRandom::fill(std::span<std::byte> bytes) {
    for (std::byte& each : bytes)
        each = repeats_ ? std::byte{1} : static_cast<std::byte>(world_.random().next());
    return {};
}

Daemon::Daemon(World& world, SimulatedSystem& system, const Plan& plan, SimulatedMedium& medium,
               std::span<std::byte> pool, const transport::ProofSession& session, Planted planted,
               WhoIs who_is)
    : world_(world), system_(system), plan_(plan), medium_(medium), pool_(pool), session_(session),
      planted_(planted), who_is_(std::move(who_is)), random_(world, planted == Planted::same_nonce),
      stop_(system.open_flag()),
      listener_(value_of(transport::Listener::listen(
          {.addresses = {"127.0.0.1"}, .peer_timeout = std::chrono::seconds(2)}, random_))),
      credits_(most_lanes), in_use_(most_lanes) {
    for (unsigned i = 0; i < plan.workers; ++i)
        workers_.push_back(value_of(target::FrameWorker::make(
            std::make_unique<SimulatedGroup>(world, system, plan.target_buffer),
            [this](unsigned lane, const std::string&, std::string problem) {
                in_use_[lane] = false;
                if (!problem.empty())
                    end(std::move(problem));
            })));
}

void Daemon::start() {
    world_.start("daemon", [this] { control(); });
    for (auto& worker : workers_)
        world_.start("worker", [this, &worker] { work(worker); });
}

void Daemon::end(std::string why) {
    if (has_ended_)
        return;
    has_ended_ = true;
    problem_ = std::move(why);
    world_.note("the session ends");
    system_.set_flag(stop_, true);
}

int Daemon::milliseconds_to_deadline() const {
    const auto deadline = listener_->deadline();
    if (!deadline || planted_ == Planted::no_deadline)
        return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<long long>(left.count(), 0));
}

// As rpmemd's control loop and TcpLaneServer.
void Daemon::control() {
    while (!has_ended_) {
        std::array<pollfd, 2> fds{{{listener_->fd(), POLLIN, 0}, {stop_, POLLIN, 0}}};
        static_cast<void>(::poll(fds.data(), fds.size(), milliseconds_to_deadline()));
        if (!has_ended_)
            listener_->handle(session_, nullptr, *this, std::chrono::steady_clock::now());
    }
    if (!problem_.empty())
        for (const auto& worker : workers_)
            if (worker)
                worker->end(problem_);
    listener_.reset();
    for (const auto& worker : workers_)
        if (worker)
            worker->stop();
}

void Daemon::work(std::unique_ptr<target::FrameWorker>& worker) {
    do
        if (&worker == &workers_.front() && std::exchange(is_deaf_, false))
            world_.sleep(longer_than_anybody_waits);
    while (worker->turn());
    worker.reset();
}

std::optional<transport::Refused> Daemon::admit(const transport::LaneIdentity& identity) {
    if (in_use_[identity.lane])
        return transport::Refused{.why = transport::Refusal::lane_in_use};
    in_use_[identity.lane] = true;
    return std::nullopt;
}

void Daemon::take(const transport::LaneIdentity& identity,
                  std::unique_ptr<transport::Stream> stream, std::string name,
                  const wire::LaneCredits& credits) {
    const auto owner = who_is_(*system_.end(stream->fd()).link);
    world_.note("takes lane {}", identity.lane);
    if (!owner)
        world_.find(fmt::format("a stranger was let in as lane {}", identity.lane));
    else if (*owner != identity.lane)
        world_.find(fmt::format("lane {} was let in as lane {}", *owner, identity.lane));
    credits_[identity.lane] = credits;
    std::unique_ptr<transport::Connection> served =
        std::make_unique<transport::FrameConnection>(std::move(stream), std::move(name));
    served = std::make_unique<WatchedConnection>(std::move(served), medium_);
    if (planted_ != Planted::none)
        served = std::make_unique<PlantedConnection>(std::move(served), planted_);
    const auto& worker = workers_[identity.lane % workers_.size()];
    if (planted_ == Planted::lost_wake && world_.random().chance(20))
        system_.lose_next_flag();
    worker->add(std::make_unique<target::ServedLane>(identity.lane, std::move(served),
                                                     plan_.terms_for(credits), pool_.data(),
                                                     medium_.medium()));
}

} // namespace rpmem::simulation
