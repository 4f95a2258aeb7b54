// SPDX-License-Identifier: BSD-3-Clause
// The simulation of one seed: it builds both ends, causes the trouble of the plan, and decides
// which calls may fail because of it.
#include "tests/simulation/simulation.hpp"

#include "common/transport/tcp/connect.hpp"
#include "tests/simulation/application.hpp"
#include "tests/simulation/daemon.hpp"
#include "tests/simulation/forwarding_connection.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/simulated_group.hpp"
#include "tests/simulation/unauthenticated.hpp"

namespace rpmem::simulation {
namespace {

constexpr std::size_t initiator_buffer = 8192;
// The value of TCP_USER_TIMEOUT.
constexpr Time peer_timeout = 2 * second;
// The maximum pause in which every call must still succeed.
constexpr Time max_pause = 2 * second;
constexpr unsigned power_cuts = 6;
// RPMEM_CONNECT_TIMEOUT. While the network works, a lane must connect within it, whatever
// unauthenticated do.
constexpr std::chrono::seconds connect_timeout(5);

class Simulation {
public:
    Simulation(Arena& arena, const Options& options)
        : options_(options), world_(options.seed, arena.stacks, options.tells), system_(world_),
          plan_(make_plan(world_.random())),
          medium_(world_, arena.pool, plan_.kind, options.planted), pool_(arena.pool.bytes()),
          model_(world_, plan_.lanes, pool_, medium_.durable()), session_(arena.session),
          random_(world_), watch_(system_.open_flag()), links_(plan_.lanes) {
        system_.become_current();
    }

    Outcome run() {
        if (options_.tells)
            tell_plan();
        make_ends();
        plan_trouble();
        world_.run();
        Outcome outcome{.finding = world_.finding(),
                        .hash = world_.hash(),
                        .trouble = plan_.trouble,
                        .troubled = has_happened_,
                        .tally = {},
                        .syncs = medium_.syncs()};
        for (const auto& application : applications_) {
            outcome.tally.calls += application->tally().calls;
            outcome.tally.failed_calls += application->tally().failed_calls;
        }
        for (const auto& links : links_)
            outcome.tally.tries += links.empty() ? 0 : links.size() - 1;
        outcome.tally.notified = notified_;
        outcome.tally.power_cuts = power_cuts_;
        return outcome;
    }

private:
    void tell_plan() const {
        const wire::LaneCredits& own = plan_.terms.credits;
        fmt::print(
            "lanes {}, applications {}, workers {}, steps {}, medium {}; credits {} bytes, {} a "
            "frame, {} frames, {} reads; delay {} us, jitter {} us, capacity {}, partial {} %; "
            "trouble: {} at {} us, lane {} ({}: all)\n",
            plan_.lanes, plan_.applications, plan_.workers, plan_.steps,
            plan_.kind == Kind::file   ? "file"
            : plan_.kind == Kind::pmem ? "pmem"
                                       : "both",
            own.bytes, own.payload, own.frames, own.reads, plan_.conditions.delay / microsecond,
            plan_.conditions.jitter / microsecond, plan_.conditions.capacity,
            plan_.conditions.partial, name_of(plan_.trouble), plan_.trouble_at / microsecond,
            plan_.troubled_lane, max_lanes);
    }
    void make_ends() {
        unauthenticated_ = std::make_unique<UnauthenticatedConnections>(
            world_, plan_.unauthenticated, static_cast<std::uint16_t>(plan_.lanes));
        make_paths();
        system_.lack_descriptors(plan_.shortages);
        daemon_ = std::make_unique<Daemon>(
            world_, system_, plan_, medium_, pool_, session_, options_.planted,
            [this](const Link& link) -> std::optional<unsigned> {
                for (unsigned lane = 0; lane < plan_.lanes; ++lane)
                    if (std::ranges::find(links_[lane], &link) != links_[lane].end())
                        return lane;
                return std::nullopt;
            });
        daemon_->start();
        if (plan_.unauthenticated > 0)
            world_.start("unauthenticated", [this] {
                unauthenticated_->run();
                if (plan_.outlasts)
                    is_done();
            });
        running_ = plan_.applications + (plan_.outlasts ? 1 : 0);
        for (unsigned i = 0; i < plan_.applications; ++i)
            applications_.push_back(std::make_unique<Application>(
                world_, model_, plan_, options_.planted,
                Application::Ways{[this](unsigned lane) { return connect(lane); },
                                  [this](unsigned lane, int code, const std::string& complaint) {
                                      return judge(lane, code, complaint);
                                  },
                                  [this](unsigned lane, const Error& error) {
                                      return judge_connecting(lane, error);
                                  }}));
        for (unsigned i = 0; i < plan_.lanes; ++i)
            applications_[i % plan_.applications]->add(i);
        for (const auto& application : applications_)
            world_.start("application", [this, &application] {
                application->run();
                is_done();
            });
    }
    // There is one path for each lane, and one for unauthenticated connections.
    void make_paths() {
        for (unsigned i = 0; i < plan_.lanes; ++i)
            system_.add_path({.conditions = plan_.conditions,
                              .opened = [this, i](Link& link) { is_opened(i, link); },
                              .note_sent =
                                  [this](const Link& link, std::span<const iovec> pieces) {
                                      unauthenticated_->record(link, pieces);
                                  }});
        system_.add_path({.conditions = plan_.conditions, .opened = [](Link&) {}});
    }
    // Does the same as TcpLanes.
    [[nodiscard]] Connecting connect(unsigned lane) {
        auto opened = transport::connect_lane(
            session_,
            {.address = {"127.0.0.1", static_cast<std::uint16_t>(lane)},
             .identity = {.lane = lane},
             .limits = {connect_timeout, {watch_, [this] { return is_lost(); }}},
             .peer_timeout = std::chrono::seconds(2)},
            random_);
        Link* const link = links_[lane].empty() ? nullptr : links_[lane].back();
        if (!opened)
            return {.link = link, .lane = nullptr, .error = opened.error()};
        if (!(opened->credits == daemon_->credits(lane)))
            world_.find(fmt::format("lane {} has other credits than it was granted", lane));
        world_.note("lane {} is connected", lane);
        std::unique_ptr<transport::LaneConnection> connection = std::move(opened->connection);
        if (lane == plan_.troubled_lane % plan_.lanes)
            connection = std::make_unique<BadConnection>(std::move(connection), is_peer_bad_);
        auto group = std::make_unique<SimulatedGroup>(world_, system_, initiator_buffer);
        static_cast<void>(group->add(*connection));
        return {.link = link,
                .lane = std::make_unique<initiator::FrameLane>(
                    std::move(connection), std::move(group), plan_.terms_for(opened->credits),
                    model_.memory(), initiator::WaitInterrupt{watch_, [this] { return is_lost(); }},
                    plan_.timeout)};
    }
    void is_opened(unsigned lane, Link& link) {
        links_[lane].push_back(&link);
        if (plan_.troubled_lane == max_lanes || plan_.troubled_lane == lane)
            for (const Side side : {Side::initiator, Side::target})
                if (is_silent_[static_cast<std::size_t>(side)])
                    link.silence(side);
    }
    void plan_trouble() {
        const Time span =
            plan_.trouble_at + (2 * plan_.conditions.delay + microsecond) * plan_.steps;
        for (unsigned i = 0; i < power_cuts; ++i)
            world_.at(world_.random().below(span), [this] {
                ++power_cuts_;
                model_.check_power_cut();
            });
        if (world_.random().chance(10)) // wake the watch without a loss
            world_.at(world_.random().below(span), [this] { system_.set_flag(watch_, true); });
        if (plan_.trouble != Trouble::none)
            world_.at(plan_.trouble_at, [this] { make_trouble(); });
    }
    void make_trouble() {
        has_happened_ = true;
        world_.note("trouble: {}", static_cast<std::uint64_t>(plan_.trouble));
        for (unsigned lane = 0; lane < plan_.lanes; ++lane)
            if (plan_.troubled_lane == max_lanes || plan_.troubled_lane == lane)
                trouble(lane);
        switch (plan_.trouble) {
        case Trouble::slow_sync:
            return medium_.slow_next();
        case Trouble::medium:
            return medium_.fail_next();
        case Trouble::lost_session:
            return lose_session();
        case Trouble::deaf_target:
            return daemon_->make_deaf();
        case Trouble::bad_peer:
            is_peer_bad_ = true;
            return;
        case Trouble::target_ends:
            return daemon_->end("the daemon was told to end");
        default:
            return;
        }
    }
    void trouble(unsigned lane) {
        if (plan_.trouble == Trouble::half_open || plan_.trouble == Trouble::silence)
            return be_silent(lane);
        if (links_[lane].empty())
            return;
        Link& link = *links_[lane].back();
        switch (plan_.trouble) {
        case Trouble::pause:
            return link.pause_until(world_.now() + world_.random().below(max_pause));
        case Trouble::cut:
            return link.cut();
        case Trouble::failed_send: {
            const Side side = world_.random().chance(50) ? Side::initiator : Side::target;
            return link.fail_send(side, world_.random().chance(50) ? ENOBUFS : EFAULT);
        }
        default:
            return;
        }
    }
    // Also affects connections that are made later, see is_opened().
    void be_silent(unsigned lane) {
        const bool all = plan_.trouble == Trouble::silence;
        const Side one = world_.random().chance(50) ? Side::initiator : Side::target;
        for (const Side side : {Side::initiator, Side::target}) {
            if (!all && side != one)
                continue;
            is_silent_[static_cast<std::size_t>(side)] = true;
            if (links_[lane].empty())
                continue;
            Link& link = *links_[lane].back();
            link.silence(side);
            if (plan_.kernel_tells)
                for (const Side each : {Side::initiator, Side::target})
                    world_.at(world_.now() + peer_timeout + world_.random().below(peer_timeout),
                              [&link, each] { link.time_out(each); });
        }
    }
    void lose_session() {
        is_session_lost_ = true;
        system_.set_flag(watch_, true);
        end_session();
    }
    // When all applications are done, the control channel ends the session.
    void is_done() {
        if (--running_ == 0)
            end_session();
    }
    void end_session() {
        world_.at(world_.now() + world_.random().below(second), [this] { daemon_->end({}); });
    }
    // The check takes a moment, like a look at the control channel.
    [[nodiscard]] bool is_lost() {
        world_.sleep(millisecond);
        if (!is_session_lost_)
            system_.set_flag(watch_, false);
        return is_session_lost_;
    }
    // The library retries until a lane is connected, so only an end of the session or a silent
    // network may make it fail.
    [[nodiscard]] std::string judge_connecting(unsigned lane, const Error& error) const {
        if (daemon_->has_ended() || is_session_lost_)
            return {};
        const bool is_silent =
            plan_.trouble == Trouble::half_open || plan_.trouble == Trouble::silence;
        const bool is_late = error.code == ETIMEDOUT || error.code == ECONNREFUSED;
        return is_silent && is_late && may_fail(lane) ? "" : "and nothing was wrong";
    }
    [[nodiscard]] std::string judge(unsigned lane, int code, const std::string& complaint) {
        if (!may_fail(lane))
            return "and nothing was wrong";
        if (plan_.trouble == Trouble::target_ends && complaint == daemon_->error_text())
            ++notified_;
        const bool is_quiet = plan_.trouble == Trouble::half_open ||
                              plan_.trouble == Trouble::silence ||
                              plan_.trouble == Trouble::deaf_target;
        // This error of a send means that the caller's memory cannot be read.
        const bool is_fault = code == EFAULT && plan_.trouble == Trouble::failed_send;
        if (code != ECONNRESET && !is_fault && !(code == ETIMEDOUT && is_quiet))
            return "which has another meaning";
        const bool is_notified = plan_.trouble == Trouble::medium ||
                                 plan_.trouble == Trouble::bad_peer ||
                                 plan_.trouble == Trouble::target_ends;
        if (is_notified && lane == plan_.troubled_lane % plan_.lanes &&
            plan_.trouble == Trouble::bad_peer && complaint != daemon_->error_text())
            return fmt::format("and not why: {}", daemon_->error_text());
        return {};
    }
    [[nodiscard]] bool may_fail(unsigned lane) const {
        const bool is_troubled = plan_.troubled_lane == max_lanes || plan_.troubled_lane == lane;
        switch (plan_.trouble) {
        case Trouble::none:
        case Trouble::pause:
        case Trouble::slow_sync:
            return false;
        case Trouble::cut:
        case Trouble::half_open:
        case Trouble::silence:
            return has_happened_ && is_troubled;
        case Trouble::deaf_target:
            return has_happened_ && lane % plan_.workers == 0;
        case Trouble::medium:
            return medium_.has_failed();
        default:
            return has_happened_;
        }
    }

    Options options_;
    World world_;
    SimulatedSystem system_;
    Plan plan_;
    SimulatedMedium medium_;
    std::span<std::byte> pool_;
    Model model_;
    const transport::ProofSession& session_;
    SimulatedRandom random_;
    int watch_;
    bool is_session_lost_ = false;
    bool is_peer_bad_ = false;
    bool has_happened_ = false;
    std::vector<std::vector<Link*>> links_; // by lane, the last one at the end
    std::array<bool, 2> is_silent_{};       // by the side whose packets are lost
    std::unique_ptr<Daemon> daemon_;
    std::unique_ptr<UnauthenticatedConnections> unauthenticated_;
    std::vector<std::unique_ptr<Application>> applications_;
    unsigned running_ = 0; // fibers that still need the session
    unsigned power_cuts_ = 0;
    unsigned notified_ = 0;
};

} // namespace

transport::ProofSession Arena::make_session() {
    auto secret = transport::Secret::make();
    auto keys = secret.and_then(transport::derive_keys);
    if (!keys)
        throw std::runtime_error(keys.error().text);
    return {.keys = std::move(*keys), .transcript = {}, .lanes = max_lanes};
}

Outcome simulate(Arena& arena, const Options& options) {
    Simulation simulation(arena, options);
    return simulation.run();
}

} // namespace rpmem::simulation
