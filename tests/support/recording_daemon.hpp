// SPDX-License-Identifier: BSD-3-Clause
// An rpmemd of protocol 0.1 in a whole session of the library: one create, one close, and between
// them lanes to a recording target.
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
              const wire::Request create = DaemonEnd::decoded(end.hear_request());
              end.say(wire::encode(wire::CreateResponse{
                  wire::Status::success,
                  {target_.port(), method, target_.remote_key(), target_.remote_address(),
                   std::get<wire::CreateRequest>(create).lanes}}));
              const wire::Request last = DaemonEnd::decoded(end.hear_request());
              recorded_at_close_ = target_.record().size();
              const auto* const close = std::get_if<wire::CloseRequest>(&last);
              asked_to_remove_ = close && close->remove;
              end.say(wire::encode(wire::CloseResponse{wire::Status::success}));
          }) {}

    [[nodiscard]] RecordingTarget& target() { return target_; }
    // The settings of a library that comes here for any target on this machine.
    [[nodiscard]] initiator::Settings settings() const { return daemon_.settings(); }
    // How much of the record there was when the library asked to close the pool.
    [[nodiscard]] std::size_t recorded_at_close() const { return recorded_at_close_; }
    // The library wanted the pool to be removed.
    [[nodiscard]] bool asked_to_remove() const { return asked_to_remove_; }

private:
    RecordingTarget target_;
    std::atomic<std::size_t> recorded_at_close_ = 0;
    std::atomic<bool> asked_to_remove_ = false;
    ScriptedDaemon daemon_;
};

} // namespace rpmem::test
