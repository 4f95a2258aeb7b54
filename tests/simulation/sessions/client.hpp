// SPDX-License-Identifier: BSD-3-Clause
// A simulated program with an open pool: one process. Its threads store and call the real library.
// Each result is checked against the model, and against the faults that have happened so far.
#pragma once

#include "librpmem/connection/link_thread.hpp"
#include "librpmem/pool.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/sessions/alone_watch.hpp"
#include "tests/simulation/sessions/planted.hpp"
#include "tests/simulation/sessions/threads.hpp"
#include "tests/simulation/sessions/verdict.hpp"

namespace rpmem::simulation::sessions {

// Returns why a call may not end like this, or an empty string if it may.
using Judge = std::function<std::string(const CallEnd& end)>;

struct Calls {
    std::uint64_t made = 0;
    std::uint64_t failed = 0;
};

inline initiator::Settings settings_of(const Plan& plan) {
    initiator::Settings settings =
        initiator::read_settings([](const char*) -> const char* { return nullptr; });
    settings.enable_verbs = false;
    settings.ssh_transport = initiator::SshTransport::libssh2; // not used, see start_channel()
    settings.connect_timeout = plan.connect_timeout;
    settings.operation_timeout = plan.operation_timeout;
    settings.peer_timeout = plan.peer_timeout;
    settings.reconnect_timeout = plan.reconnect_timeout;
    settings.reconnect_delay = plan.reconnect_delay;
    settings.spin_time = std::chrono::microseconds(0);
    if (plan.alone.is_on) {
        settings.on_loss = initiator::OnLoss::alone;
        settings.equalize = initiator::Equalize::yes;
        settings.catch_up_rate = plan.alone.rate;
        settings.state_home = "/program";
    }
    return settings;
}

class Client {
public:
    Client(World& world, const Plan& plan, Model& model, CallWatch& watch, AloneWatch& alone,
           std::span<std::byte> memory, Log log, Judge judge)
        : world_(world), plan_(plan), model_(model), watch_(watch), alone_(alone), memory_(memory),
          log_(std::move(log)), judge_(std::move(judge)) {}

    // No program has had the pool before.
    void set_first() { is_first_ = true; }
    // Runs the first thread of the program.
    void run() {
        initiator::LinkThread heartbeats(wire::heartbeat_interval, initiator::beat_all);
        auto opened = open(heartbeats);
        if (!opened) {
            open_error_ = opened.error();
            return;
        }
        pool_ = std::move(*opened);
        if (plan_.alone.is_on && is_first_)
            persist_unchanged();
        running_ = plan_.applications;
        for (unsigned i = 0; i < plan_.applications; ++i)
            world_.start("application", [this, i] {
                use(i);
                --running_;
                world_.wake_all();
            });
        while (running_ > 0)
            world_.block(never);
        close();
        pool_.reset();
    }
    [[nodiscard]] const Calls& calls() const { return calls_; }
    [[nodiscard]] bool has_opened() const { return pool_ != nullptr; }
    // Returns why the pool could not be opened.
    [[nodiscard]] const std::optional<Error>& open_error() const { return open_error_; }

private:
    static constexpr unsigned max_tries_to_open = 40;
    static constexpr unsigned max_hurried = 60; // steps while the replica catches up

    Result<std::unique_ptr<initiator::Pool>> open(initiator::LinkThread& heartbeats) {
        const initiator::PoolArguments arguments{.target = "127.0.0.1",
                                                 .pool_set = "pool.set",
                                                 .address = memory_.data(),
                                                 .size = memory_.size(),
                                                 .lanes = plan_.lanes,
                                                 .command = "rpmemd"};
        Result<std::unique_ptr<initiator::Pool>> opened;
        // The library does not retry an open, so the program does.
        for (unsigned i = 0; i < max_tries_to_open && !world_.is_in_vacuum(); ++i) {
            opened = initiator::Pool::open(arguments, nullptr, settings_of(plan_),
                                           {.log = log_, .heartbeats = &heartbeats});
            if (opened) {
                watch_.session_is_up();
                return opened;
            }
            world_.note("open failed with {}", static_cast<std::uint64_t>(opened.error().code));
            log_.error("open: {}", opened.error().text);
            if (opened.error().code == ESTALE)
                break;
            world_.sleep(second);
        }
        return opened;
    }
    [[nodiscard]] unsigned any_lane(unsigned application) {
        const unsigned own = (plan_.lanes - application - 1) / plan_.applications + 1;
        return application + plan_.applications * static_cast<unsigned>(world_.random().below(own));
    }
    [[nodiscard]] Range any_range(unsigned lane) {
        Random& random = world_.random();
        const std::size_t most =
            random.chance(70) ? std::min<std::size_t>(plan_.max_length, 64) : plan_.max_length;
        const std::size_t length = 1 + random.below(most);
        return {lane * region_size + random.below(region_size - length + 1), length};
    }
    // Most races need a call at the same time as a message of the thread that catches up.
    [[nodiscard]] Time hurried_pause() const {
        return 2 * plan_.conditions.delay + 50 * microsecond;
    }
    void use(unsigned application) {
        unsigned hurried = 0;
        for (unsigned i = 0; i < plan_.steps + hurried && !world_.is_in_vacuum() && !has_failed_;
             ++i) {
            const bool hurries = alone_.is_catching_up() && hurried < max_hurried;
            hurried += hurries ? 1 : 0;
            if (const Time pause = hurries ? hurried_pause() : plan_.max_pause; pause > 0)
                world_.sleep(world_.random().below(pause));
            if (world_.is_in_vacuum())
                return;
            step(any_lane(application));
        }
    }
    void step(unsigned lane) {
        const Range range = any_range(lane);
        switch (world_.random().below(10)) {
        case 0:
            return read(lane, range);
        case 1:
        case 2:
            return drain(lane);
        case 3: // a store without a call
            static_cast<void>(model_.store(lane, range));
            return;
        case 4:
            return persist(lane, range, true);
        case 5:
        case 6:
            return persist(lane, range, false);
        default:
            return flush(lane, range);
        }
    }
    [[nodiscard]] static std::size_t place_of(const Range& range) {
        return range.offset + first_place;
    }
    // Call it before a call that may send the range.
    void pass(unsigned lane, const Range& range) {
        model_.passed(lane, range);
        watch_.passed(range);
    }
    void flush(unsigned lane, const Range& range) {
        if (!model_.store(lane, range))
            return;
        pass(lane, range);
        if (call("rpmem_flush", false,
                 [&] { return pool_->flush(place_of(range), range.length, lane, 0); }))
            model_.flushed(lane, range);
    }
    void persist(unsigned lane, const Range& range, bool deep) {
        if (!model_.store(lane, range))
            return;
        pass(lane, range);
        const bool done = call(deep ? "rpmem_deep_persist" : "rpmem_persist", true, [&] {
            return deep ? pool_->deep_persist(place_of(range), range.length, lane)
                        : pool_->persist(place_of(range), range.length, lane, 0);
        });
        if (!done)
            return;
        model_.flushed(lane, range);
        acknowledged(lane);
    }
    // Otherwise the replica would differ by the first stores of the program. Without a record that
    // proves that this memory is the source, the program could not go on alone.
    void persist_unchanged() {
        const Range range{0, 8};
        pass(0, range);
        if (!call("rpmem_persist", true,
                  [&] { return pool_->persist(place_of(range), range.length, 0, 0); }))
            return;
        model_.flushed(0, range);
        acknowledged(0);
    }
    void acknowledged(unsigned lane) {
        if (!alone_.is_promise(lane))
            return model_.acknowledged(lane);
        model_.promised(lane);
        watch_.promised(lane);
    }
    void drain(unsigned lane) {
        if (call("rpmem_drain", watch_.has_unacknowledged(lane),
                 [&] { return pool_->drain(lane, 0); }))
            acknowledged(lane);
    }
    void read(unsigned lane, const Range& range) {
        const auto oldest = model_.oldest_answer(lane, range);
        std::vector<std::byte> answer(range.length);
        if (call("rpmem_read", true,
                 [&] { return pool_->read(answer.data(), place_of(range), range.length, lane); }))
            model_.check_answer(range, oldest, answer);
    }
    void close() {
        tell_of_close();
        alone_.closes();
        const bool was_away = alone_.is_away(); // it may join when rpmem_close() has given up
        const bool is_closed = call("rpmem_close", true, [&] { return pool_->close(); });
        if (!is_closed || was_away || alone_.is_away())
            return;
        for (unsigned lane = 0; lane < plan_.lanes; ++lane)
            model_.acknowledged(lane);
    }
    template <typename Call>
    bool call(const char* name, bool needs_target, Call make) {
        world_.note(name);
        const unsigned absences = alone_.absences();
        const bool was_away = alone_.is_away();
        const bool could_leave = alone_.may_leave();
        watch_.begin();
        const Result<> result = make();
        const WatchedCall watched = watch_.end();
        if (world_.is_in_vacuum())
            return false;
        ++calls_.made;
        world_.note("    returns {}", result ? 0 : static_cast<std::uint64_t>(result.error().code));
        const std::string verdict = judge_({.name = name,
                                            .call = watched,
                                            .error = result ? nullptr : &result.error(),
                                            .needs_target = needs_target,
                                            .may_leave = alone_.may_leave(),
                                            .could_leave = could_leave,
                                            .was_away = was_away || absences != alone_.absences(),
                                            .joined_at = alone_.joined_at()});
        if (!verdict.empty())
            world_.find(fmt::format("{} {}{}", name, verdict,
                                    result ? "" : "; its error: " + result.error().text));
        if (result)
            return true;
        ++calls_.failed;
        has_failed_ = has_failed_ || !alone_.may_leave() || result.error().code != ENOTCONN;
        return false;
    }

    World& world_;
    const Plan& plan_;
    Model& model_;
    CallWatch& watch_;
    AloneWatch& alone_;
    std::span<std::byte> memory_;
    Log log_;
    Judge judge_;
    std::unique_ptr<initiator::Pool> pool_;
    unsigned running_ = 0;
    bool has_failed_ = false;
    std::optional<Error> open_error_;
    bool is_first_ = false;
    Calls calls_;
};

} // namespace rpmem::simulation::sessions
