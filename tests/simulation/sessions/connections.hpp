// SPDX-License-Identifier: BSD-3-Clause
// All simulated connections to the target, of ssh and of lanes, and the faults of these
// connections.
#pragma once

#include "tests/simulation/sessions/login.hpp"
#include "tests/simulation/sessions/plan.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace rpmem::simulation::sessions {

class Connections {
public:
    Connections(World& world, const Plan& plan) : world_(world), plan_(plan) {}
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;

    // IS_UP states whether the target has power.
    void add(Link& link, bool is_up) {
        links_.push_back(&link);
        if (world_.now() < down_until_)
            link.pause_until(down_until_);
        if (!is_up)
            silence(link);
    }
    void add_lane(Link& link, bool is_up) {
        add(link, is_up);
        if (world_.now() < dying_until_)
            doom(link);
    }
    void add_login(const std::shared_ptr<Login>& login, bool is_up) {
        for (Link* const link : {login->input, login->output, login->error})
            add(*link, is_up);
        logins_.push_back(login);
    }
    // The earliest time at which bytes that are sent now can arrive, without their delay.
    [[nodiscard]] Time usable_at() const { return std::max(world_.now(), down_until_); }

    void cut_lanes() {
        on_some([this](Link& link) {
            if (!is_login(link))
                link.cut();
        });
    }
    void cut_logins() {
        for (const auto& login : logins_)
            login->cut();
    }
    void fall_silent(bool toward_target, bool toward_initiator) {
        on_some([&](Link& link) {
            if (toward_target)
                link.silence(Side::initiator);
            if (toward_initiator)
                link.silence(Side::target);
            kernels_give_up(link);
        });
    }
    void go_down_for(Time time) {
        down_until_ = std::max(down_until_, world_.now() + time);
        for (Link* const link : links_) {
            link->pause_until(down_until_);
            if (time > time_of(plan_.peer_timeout))
                kernels_give_up(*link);
        }
    }
    // Makes the target forget all connections. The initiators get a reset after TIME.
    void forget_all(Time time) {
        for (Link* const link : links_)
            silence(*link);
        world_.at(world_.now() + time, [this, lost = links_.size(), logins = logins_] {
            for (std::size_t i = 0; i < lost; ++i)
                links_[i]->fail_sender();
            for (const auto& login : logins)
                login->end(Login::status_of_ssh);
        });
    }
    // For TIME, each new lane connects and is lost: by a reset, or without an error. MUTE percent
    // of them are lost before their first acknowledgement, the others at any time.
    void let_lanes_die_for(Time time, bool by_reset, unsigned mute) {
        dying_until_ = std::max(dying_until_, world_.now() + time);
        die_by_reset_ = by_reset;
        mute_ = mute;
        cut_lanes();
    }

private:
    static void silence(Link& link) {
        for (const Side side : {Side::initiator, Side::target})
            link.silence(side);
    }
    // Calls ACTION for all existing connections, or for a random half of them. The three links of a
    // login count as one connection.
    template <typename Do>
    void on_some(Do action) {
        const unsigned chance = world_.random().chance(50) ? 100 : 50;
        for (Link* const link : links_)
            if (!is_login(*link) && world_.random().chance(chance))
                action(*link);
        for (const auto& login : logins_)
            if (world_.random().chance(chance))
                for (Link* const link : {login->input, login->output, login->error})
                    action(*link);
    }
    [[nodiscard]] bool is_login(const Link& link) const {
        return std::ranges::any_of(logins_, [&](const auto& login) {
            return &link == login->input || &link == login->output || &link == login->error;
        });
    }
    // TCP_USER_TIMEOUT and keepalive end the connection. Lanes set them, ssh does not.
    void kernels_give_up(Link& link) {
        if (is_login(link))
            return;
        const Time limit = time_of(plan_.peer_timeout);
        for (const Side side : {Side::initiator, Side::target})
            world_.at(world_.now() + limit + world_.random().below(limit / 4),
                      [&link, side] { link.time_out(side); });
    }
    void doom(Link& link) {
        const auto die = [this, &link] {
            if (die_by_reset_)
                return link.cut();
            link.silence(Side::target);
            kernels_give_up(link);
        };
        const Time latest = 20 * plan_.conditions.delay + 5 * millisecond;
        if (world_.random().chance(mute_))
            link.before_ack(die);
        else
            world_.at(world_.now() + world_.random().below(latest), die);
    }

    World& world_;
    const Plan& plan_;
    std::vector<Link*> links_;
    std::vector<std::shared_ptr<Login>> logins_;
    Time down_until_ = 0;
    Time dying_until_ = 0;
    bool die_by_reset_ = false;
    unsigned mute_ = 0;
};

} // namespace rpmem::simulation::sessions
