// SPDX-License-Identifier: BSD-3-Clause
// The round of the case `compare`. Each session is one of a process of its own, because the first
// one has to end without a close.
#include "tools/bench/away_pool.hpp"
#include "tools/bench/messages.hpp"

#include <cerrno>

namespace rpmem::bench {
namespace {

// Persists the whole pool. The process then ends without a close, so the target does not know
// whether the replica is equal.
Result<AwayRound> leave_unclosed(const AwayTask& task) {
    RPMEM_ASSIGN(auto pool, AwayPool::create(task));
    AwayRound round;
    RPMEM_ASSIGN(round.persist, pool->persist_all());
    static_cast<void>(pool.release()); // NOLINT(bugprone-unused-return-value)
    return round;
}

Result<AwayRound> write_first(const AwayTask& task) {
    RPMEM_ASSIGN(const auto pool, AwayPool::open(task));
    AwayRound round;
    const Clock::time_point begin = Clock::now();
    RPMEM_TRY(pool->persist_next());
    round.first_write = in_milliseconds(Clock::now() - begin);
    return round;
}

template <typename Session>
Result<AwayRound> in_process(const AwayTask& task, Session session) {
    RPMEM_ASSIGN(const OtherProcess process, start_process([&](int asked) {
                     auto round = session(task);
                     if (!round && round.error().code == ENOTSUP)
                         round = AwayRound{.not_supported = round.error().text};
                     (void)send(asked, round);
                 }));
    auto round = receive<AwayRound>(process.socket.get(), start_timeout);
    wait_for(process);
    if (round && !round->not_supported.empty())
        return fail(ErrorClass::resource_limit, ENOTSUP, "{}", round->not_supported);
    return round;
}

// The session that compares is closed, so the one after it compares nothing.
Result<AwayRound> compare(const AwayTask& task, AwayRound round) {
    RPMEM_ASSIGN(const AwayRound comparing, in_process(task, write_first));
    RPMEM_ASSIGN(const AwayRound closed, in_process(task, write_first));
    round.comparing_write = comparing.first_write;
    round.first_write = closed.first_write;
    return round;
}

} // namespace

Result<AwayRound> measure_comparison(const AwayTask& task) {
    RPMEM_ASSIGN(const AwayRound left, in_process(task, leave_unclosed));
    auto round = compare(task, left);
    // A failure here does not affect the results.
    (void)rpmem_remove(task.target.c_str(), task.pool_set.c_str(), RPMEM_REMOVE_FORCE);
    return round;
}

} // namespace rpmem::bench
