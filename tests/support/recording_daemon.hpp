// SPDX-License-Identifier: BSD-3-Clause
// A fake rpmemd of protocol 0.1 for one session of the library. It responds to CREATE and to CLOSE.
// In between, the lanes connect to a recording target.
#pragma once

#include "tests/support/recording_target.hpp"
#include "tests/support/scripted_daemon.hpp"

namespace rpmem::test {

class RecordingDaemon {
public:
    RecordingDaemon(std::size_t pool_size, wire::PersistMethod method)
        : target_({.pool_size = pool_size, .is_slow = false}),
          daemon_([this, method](const DaemonEnd& end) {
              end.say(wire::encode_initial_status(0));
              const wire::Request create = DaemonEnd::decoded(end.receive_request());
              end.say(wire::encode(wire::CreateResponse{
                  wire::Status::success,
                  {target_.port(), method, target_.remote_key(), target_.remote_address(),
                   std::get<wire::CreateRequest>(create).lanes}}));
              const wire::Request last = DaemonEnd::decoded(end.receive_request());
              recorded_at_close_ = target_.record().size();
              const auto* const close = std::get_if<wire::CloseRequest>(&last);
              asked_to_remove_ = close && close->remove;
              end.say(wire::encode(wire::CloseResponse{wire::Status::success}));
          }) {}

    [[nodiscard]] RecordingTarget& target() { return target_; }
    // Returns settings with which the library reaches this daemon for any target on this machine.
    [[nodiscard]] initiator::Settings settings() const { return daemon_.settings(); }
    // Returns the size of the record when CLOSE arrived.
    [[nodiscard]] std::size_t recorded_at_close() const { return recorded_at_close_; }
    // Returns whether CLOSE asked to remove the pool.
    [[nodiscard]] bool asked_to_remove() const { return asked_to_remove_; }

private:
    RecordingTarget target_;
    std::atomic<std::size_t> recorded_at_close_ = 0;
    std::atomic<bool> asked_to_remove_ = false;
    ScriptedDaemon daemon_;
};

} // namespace rpmem::test
