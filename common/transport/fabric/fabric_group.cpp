// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/fabric_group.hpp"

#include "common/transport/fabric/fabric_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rpmem::transport {
namespace {

// Maximum time until a spinning wait() notices WAKE.
constexpr std::chrono::microseconds max_blindness(1000);

// Retry interval while a provider has no room for an operation.
constexpr std::chrono::milliseconds time_for_room(1);

// Maximum number of reads of the completion queue in one look(), so that busy peers do not keep the
// thread for ever.
constexpr std::size_t max_rounds = 64;

// When a connection ends, each of its operations fails on its own. More failures in a row than this
// mean that the queue itself is broken.
constexpr unsigned max_failures = 100000;

} // namespace

Result<std::unique_ptr<FabricGroup>> FabricGroup::open(const fabric::Domain& domain,
                                                       std::size_t operations,
                                                       std::chrono::microseconds spin_time) {
    RPMEM_ASSIGN(auto completions, fabric::CompletionQueue::open(domain, operations));
    return std::unique_ptr<FabricGroup>(
        new FabricGroup(std::move(completions), operations, spin_time));
}

Result<> FabricGroup::add(LaneConnection& connection) {
    auto& added = static_cast<FabricConnection&>(connection);
    members_.push_back(&added);
    auto started = added.start();
    if (!started)
        remove(connection);
    return started;
}

void FabricGroup::remove(LaneConnection& connection) {
    auto& removed = static_cast<FabricConnection&>(connection);
    removed.abandon();
    // An entry of CONNECTION that stayed in the queue would point to a destroyed object. A read may
    // return a single entry, because each failed operation takes a read of its own.
    read_completions(operations_ + 1);
    std::erase(members_, &removed);
    std::erase(completed_, &removed);
    std::erase(ready_, &connection);
}

void FabricGroup::look() { read_completions(max_rounds); }

void FabricGroup::read_completions(std::size_t max_reads) {
    Entries entries;
    for (std::size_t read = 0; read < max_reads; ++read) {
        const int got = completions_.read(entries);
        if (got == 0)
            return;
        dispatch(entries, got);
    }
}

void FabricGroup::dispatch(const Entries& entries, int got) {
    if (got < 0)
        return dispatch_failure(-got);
    failures_ = 0;
    for (int i = 0; i < got; ++i) {
        const auto& entry = entries[static_cast<std::size_t>(i)];
        if (auto* const operation = static_cast<FabricOperation*>(entry.op_context)) {
            operation->connection->ended_well(*operation, entry.len);
            mark_ready(*operation->connection);
        }
    }
}

void FabricGroup::dispatch_failure(int code) {
    const bool is_broken = ++failures_ > max_failures;
    auto* const operation = static_cast<FabricOperation*>(completions_.failed_context());
    for (FabricConnection* const member : members_)
        if (is_broken || (operation ? member == operation->connection : members_.size() == 1)) {
            member->ended_badly(operation, code);
            mark_ready(*member);
        }
}

void FabricGroup::mark_ready(FabricConnection& connection) {
    if (std::find(completed_.begin(), completed_.end(), &connection) == completed_.end())
        completed_.push_back(&connection);
}

// Moves the completed connections that still have news to ready_. Some have none, because they were
// polled after their completion.
bool FabricGroup::has_news() {
    ready_.clear();
    for (FabricConnection* const connection : completed_)
        if (connection->has_news())
            ready_.push_back(connection);
    completed_.clear();
    return !ready_.empty();
}

void FabricGroup::mark_all_ready() { ready_.assign(members_.begin(), members_.end()); }

// Like CompletionQueue::read(), but waits for an entry. Returns 0 if WAKE is readable, and
// -ETIMEDOUT if LIMIT passes.
int FabricGroup::read_in_time(Entries& entries, int wake, std::chrono::milliseconds limit) {
    if (const int got = completions_.read(entries); got != 0)
        return got;
    const auto start = Clock::now();
    const std::chrono::nanoseconds time =
        std::min<std::chrono::nanoseconds>(policy_.time(start), limit);
    auto now = start;
    for (auto polled = start; now - start < time; now = Clock::now()) {
        if (const int got = completions_.read(entries); got != 0) {
            policy_.ended(start, now);
            return got;
        }
        if (now - polled < max_blindness)
            continue;
        if (!completions_.sleep(0, wake))
            return 0;
        polled = now;
    }
    for (const Deadline deadline(limit);;) {
        const bool woken = !completions_.sleep(deadline.poll_timeout(), wake);
        const int got = completions_.read(entries);
        if (got == 0 && !woken && !deadline.passed())
            continue; // the peer accessed memory directly, which adds no entry
        policy_.ended(start, Clock::now());
        return got != 0 || woken ? got : -ETIMEDOUT;
    }
}

WaitResult FabricGroup::wait(std::chrono::milliseconds limit, int wake) {
    if (has_news())
        return WaitResult::look;
    const auto now = Clock::now();
    if (!std::exchange(is_waiting_, true))
        since_ = now;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - (now - since_));
    if (left <= std::chrono::milliseconds(0))
        return WaitResult::timed_out;
    Entries entries;
    const bool tries_again = std::exchange(expects_room_, false) && left > time_for_room;
    const int got = read_in_time(entries, wake, tries_again ? time_for_room : left);
    if (got == 0 || got == -ETIMEDOUT) {
        mark_all_ready(); // the event queue may have reported the end of a connection
        if (got == 0)
            return WaitResult::woken;
        return tries_again ? WaitResult::look : WaitResult::timed_out;
    }
    dispatch(entries, got);
    static_cast<void>(has_news());
    if (tries_again) // connections without room may have no news
        mark_all_ready();
    return WaitResult::look;
}

} // namespace rpmem::transport
