// SPDX-License-Identifier: BSD-3-Clause
// The limit that the network sets. Two processes measure it, which are started before anything
// else and touch neither the library nor a pool: one asks, on this machine; one answers, on the
// target, where it stands as a daemon stands.
#pragma once

#include "tools/bench/measuring.hpp"
#include "tools/bench/messages.hpp"
#include "tools/bench/options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rpmem::bench {

// Bytes there, bytes back.
struct LimitTask {
    bool spins = false;       // both ends try again without pause, else they sleep in poll(2)
    unsigned connections = 1; // in use at the same time, a thread at each end for each
    std::size_t request = 0;  // 0: nothing is exchanged
    std::size_t answer = 0;
    Pace pace{};        // of each connection
    bool apart = false; // each end has a processor of its own
    bool reads = false; // the request is a question: none of its bytes are kept
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LimitTask, spins, connections, request, answer, pace, apart,
                                   reads)

// Starts both processes, and comes back when tasks may be sent to the one that asks. It answers
// with a Round; if nothing is exchanged, with the bytes of the private pages of the only daemon of
// this run on the target. They end with this one.
[[nodiscard]] Result<OtherProcess> start_limits(const Options& options);

// The argument with which the process that answers is started, not for users.
inline constexpr const char* answering_half = "--answer";

// Its first line.
struct AnsweringSetup {
    std::string listen_at; // empty: the address that ssh reached
    std::size_t pool_size = 0;
    std::string medium; // file that is its pool; empty: its memory is
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AnsweringSetup, listen_at, pool_size, medium)

// Serves tasks that come from INPUT until its end; their results go to OUTPUT.
void serve_answers(int input, int output);

} // namespace rpmem::bench
