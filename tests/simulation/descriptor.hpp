// SPDX-License-Identifier: BSD-3-Clause
// The object behind a descriptor of a simulated system.
#pragma once

#include "tests/simulation/file_system.hpp"
#include "tests/simulation/network.hpp"

#include <sys/epoll.h>

#include <memory>
#include <utility>
#include <vector>

namespace rpmem::simulation {

struct Descriptor {
    enum class Kind { closed, fresh, listening, connecting, connected, flag, epoll, process, file };

    Kind kind = Kind::closed;
    Link* link = nullptr;
    Side side = Side::initiator;
    bool is_pipe = false;
    Process* owner = nullptr;
    Process* watched = nullptr; // the process that a pidfd refers to
    std::shared_ptr<OpenFile> file{};
    std::vector<Link*> backlog{};
    std::vector<Fiber*> waiters{}; // used if there is no link
    std::uint16_t port = 0;        // used by initiators and listeners
    bool resets = false;
    int error = 0; // result of connect(2), for SO_ERROR
    int flag = 0;  // index of a flag of the world
    bool is_of_signals = false;
    std::vector<std::pair<int, epoll_event>> members{};
};

} // namespace rpmem::simulation
