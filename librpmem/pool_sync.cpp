// SPDX-License-Identifier: BSD-3-Clause
// The part of Pool that reports whether the replica is in sync. Three objects know a part of it:
//   link_       whether the target is connected
//   replica_    which calls of this session the target lacks
//   equalizer_  whether the target may lack calls of an earlier session
#include "librpmem/pool.hpp"

#include <cerrno>

namespace rpmem::initiator {
namespace {

constexpr const char* not_compared =
    "the replica may lack calls of an earlier session; the first call that writes compares it with "
    "the memory of this process, and sends what differs";
constexpr const char* never_equal =
    "the replica may lack calls of an earlier session, and this session does not send them; run "
    "rpmemctl verify, then rpmemctl push or rpmemctl pull";

} // namespace

Result<ReplicaReport> Pool::replica_report() {
    RPMEM_TRY(refuse_in_child("rpmem_replica_state"));
    ReplicaReport report = link_->replica_report();
    const auto earlier = equalizer_->earlier_calls();
    const bool is_compared = earlier == Equalizer::EarlierCalls::present;
    if (report.state == SyncState::in_sync && !is_compared) {
        const bool is_pending = earlier == Equalizer::EarlierCalls::pending;
        report.state = is_pending ? SyncState::catching_up : SyncState::failed;
        report.since = counters_.facts().opened;
        report.reason = is_pending ? not_compared : never_equal;
    } else if (report.state == SyncState::catching_up && catch_up_) {
        report.catch_up_rate = catch_up_->bytes_per_second();
        if (catch_up_->is_outpaced())
            report.reason = catch_up_->describe_outpaced();
    }
    if (!is_compared)
        report.behind_bytes = size_of_pool();
    else if (report.state != SyncState::in_sync && catch_up_)
        report.behind_bytes = catch_up_->behind_bytes();
    return report;
}

Result<> Pool::await_in_sync(std::chrono::milliseconds time) {
    constexpr const char* call = "rpmem_wait_in_sync";
    if (time.count() < 0)
        return invalid("{}: the timeout is {} ms; it must be 0 to {}", call, time.count(), INT_MAX);
    RPMEM_TRY(refuse_in_child(call));
    return in_context(call, link_->await_in_sync(time, [this]() -> Result<bool> {
        if (catch_up_ && catch_up_->owes_record())
            return false;
        switch (equalizer_->earlier_calls()) {
        case Equalizer::EarlierCalls::present:
            return true;
        case Equalizer::EarlierCalls::pending:
            return false;
        case Equalizer::EarlierCalls::missing:
            break;
        }
        return fail(ErrorClass::target_refused, ESTALE, "{}", never_equal);
    }));
}

} // namespace rpmem::initiator
