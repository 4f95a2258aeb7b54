// SPDX-License-Identifier: BSD-3-Clause
// A simulated login by ssh. It connects a Channel with a daemon until one of them ends or the
// connection is lost.
#pragma once

#include "librpmem/session/channel.hpp"
#include "tests/simulation/sessions/machine.hpp"

namespace rpmem::simulation::sessions {

struct Login {
    Link* input;
    Link* output;
    Link* error;
    Process* daemon = nullptr;   // null before its start
    bool other_user = false;     // a user of the target with another state-dir
    std::optional<int> status{}; // exit status of the remote command, as ssh reports it

    static constexpr int status_of_ssh = 255;

    void end(int with_status) {
        if (!status)
            status = with_status;
    }
    // Loses the connection. Both ends see its end.
    void cut() {
        end(status_of_ssh);
        for (Link* const link : {input, output, error})
            link->cut();
    }
};

class LoginBackend final : public initiator::ChannelBackend {
public:
    LoginBackend(World& world, std::shared_ptr<Login> login)
        : world_(world), login_(std::move(login)) {}

    std::optional<ExitStatus> wait(const Deadline& deadline) override {
        constexpr Time tick = 5 * millisecond;
        while (!login_->status && !deadline.passed())
            world_.sleep(tick);
        if (!login_->status)
            return std::nullopt;
        return ExitStatus{.code = *login_->status, .signal = 0, .known = true};
    }

private:
    World& world_;
    std::shared_ptr<Login> login_;
};

} // namespace rpmem::simulation::sessions
