// SPDX-License-Identifier: BSD-3-Clause
// Another program, sometimes of another user of the target, that opens the pool if it can. If the
// first program may go on alone, this one sometimes opens the replica as it is, and writes to it:
// nobody may overwrite that later.
#pragma once

#include "tests/simulation/sessions/client.hpp"

#include <algorithm>
#include <vector>

namespace rpmem::simulation::sessions {

class Intruder {
public:
    Intruder(Machine& machine, const Plan& plan, Log log)
        : world_(machine.world()), plan_(plan), log_(std::move(log)),
          process_(machine.make_process("intruder")) {}
    Intruder(const Intruder&) = delete;
    Intruder& operator=(const Intruder&) = delete;

    [[nodiscard]] bool is(const Process* process) const { return process == &process_; }
    [[nodiscard]] bool is_other_user() const { return is_other_user_; }

    // Calls TAKEN when it has the pool, with whether it has opened the pool as it is, and ENDED at
    // the end. It writes if TAKEN returns true.
    void start(std::function<bool(bool as_it_is)> taken, std::function<void()> ended) {
        is_other_user_ = world_.random().chance(50);
        const bool as_it_is = plan_.alone.is_on && world_.random().chance(50);
        world_.start("intruder", &process_, [this, as_it_is, taken, ended] {
            run(as_it_is, taken);
            ended();
        });
    }
    // Returns whether the durable bytes of POOL are those that it has written last.
    [[nodiscard]] bool check(std::span<const std::byte> pool) const {
        return !has_written_ || std::ranges::all_of(pool.subspan(place, size),
                                                    [](std::byte byte) { return byte == written; });
    }

private:
    static constexpr std::size_t place = (max_lanes - 1) * region_size; // of no lane in a plan
    static constexpr std::size_t size = 8;
    static constexpr std::byte written{0xee};

    void run(bool as_it_is, const std::function<bool(bool)>& taken) {
        std::vector<std::byte> memory(used_size, written);
        initiator::Settings settings = settings_of(plan_);
        settings.on_loss = initiator::OnLoss::fail;
        settings.equalize = as_it_is ? initiator::Equalize::no : initiator::Equalize::automatic;
        initiator::LinkThread heartbeats(wire::heartbeat_interval, initiator::beat_all);
        const auto opened =
            initiator::Pool::open({.target = "127.0.0.1",
                                   .pool_set = world_.random().one_of(pool_sets),
                                   .address = memory.data(),
                                   .size = memory.size(),
                                   .lanes = 1,
                                   .command = "rpmemd"},
                                  nullptr, settings, {.log = log_, .heartbeats = &heartbeats});
        if (!opened || world_.is_in_vacuum())
            return;
        world_.note("another initiator has the pool");
        if (taken(as_it_is) && plan_.alone.is_on &&
            (*opened)->persist(first_place + place, size, 0, 0))
            has_written_ = true;
        world_.sleep(second);
        static_cast<void>((*opened)->close());
    }

    World& world_;
    const Plan& plan_;
    Log log_;
    Process& process_;
    bool is_other_user_ = false;
    bool has_written_ = false;
};

} // namespace rpmem::simulation::sessions
