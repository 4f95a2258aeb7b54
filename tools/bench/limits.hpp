// SPDX-License-Identifier: BSD-3-Clause
// Measures raw TCP, which is the limit that the network sets. An asking process on this machine
// exchanges messages with an answering process on the target, which takes the place of the daemon.
// Both are started first of all, and use neither the library nor a pool.
#pragma once

#include "tools/bench/measuring.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpmem::bench {

// Exchanges of a request and an answer.
struct LimitTask {
    bool spins = false;       // both ends retry without a pause; otherwise they sleep
    unsigned connections = 1; // each with a thread at both ends
    std::size_t request = 0;  // bytes; 0: no exchange, see start_limits()
    std::size_t answer = 0;   // bytes
    Pace pace{};              // pace of each connection
    bool apart = false;       // each end has a processor of its own
    bool reads = false;       // the request stands for a read: its bytes are not stored
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LimitTask, spins, connections, request, answer, pace, apart,
                                   reads)

// Starts both processes, and waits until the asking one accepts tasks. It answers a LimitTask with
// a Round. If LimitTask::request is 0, it answers with a number: the size in bytes of the private
// memory of rpmemd, which must be the only daemon of this run on the target. Both processes end
// with this one.
[[nodiscard]] Result<OtherProcess> start_limits(const Options& options);

// The internal option that starts the answering process.
inline constexpr const char* answering_half = "--answer";

// The first line that the answering process reads.
struct AnsweringSetup {
    std::string listen_at; // empty: the address to which ssh connected
    std::size_t pool_size = 0;
    std::string medium; // file that stores the data; empty: memory
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnsweringSetup, listen_at, pool_size, medium)

// Runs the answering process: serves the tasks from INPUT until its end, and writes their results
// to OUTPUT.
void serve_answers(int input, int output);

} // namespace rpmem::bench
