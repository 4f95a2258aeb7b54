// SPDX-License-Identifier: BSD-3-Clause
// Observes the lanes of the program: when the target acknowledged a range of a call for the first
// time, and when the call detected a loss. It does not use CallBound, so that it can check it.
// watch_functions.cpp reports the operations of lanes.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "tests/simulation/model.hpp"
#include "tests/simulation/sessions/plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace rpmem::simulation::sessions {

using Ranges = std::vector<initiator::PoolRange>; // offsets include the header

// A period of a call in which no further range was acknowledged.
struct Silence {
    Time since;                    // when the call began, or a further range was acknowledged
    Time until = 0;                // when the next range was acknowledged, or the call ended
    std::optional<Time> noticed{}; // when the first loss meanwhile was detected
    Time took = 0;                 // how long the login of the lost session took
    Time stopped = 0;              // how long the process was stopped meanwhile
    Time resumed = 0;              // when the process was last continued
};

// One call of the API.
struct WatchedCall {
    Time began;
    std::vector<Silence> silences; // the last one has not ended
    std::uint64_t max_frames = 0; // maximum of acknowledged frames of its own operation per session
};

// The result of one operation of a lane.
struct LaneOperation {
    Ranges before;        // unacknowledged ranges before it, and those that it has sent
    Ranges after;         // those of them that are still unacknowledged
    std::uint64_t frames; // acknowledged frames of the call's own operation, which sessions repeat
    bool has_failed;
};

class CallWatch {
public:
    explicit CallWatch(World& world)
        : world_(world), owed_(first_place + pool_size), is_left_(owed_.size()) {
        running = this;
    }
    ~CallWatch() { running = nullptr; }
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;

    // Returns null if the running fiber makes no watched call.
    [[nodiscard]] static CallWatch* current() {
        return running && running->calls_.contains(running->world_.current()) ? running : nullptr;
    }

    void begin() {
        const Time now = world_.now();
        calls_[world_.current()] = {.began = now, .silences = {{.since = now, .took = took_}}};
    }
    WatchedCall end() {
        const auto call = calls_.find(world_.current());
        WatchedCall ended = std::move(call->second);
        ended.silences.back().until = world_.now();
        calls_.erase(call);
        return ended;
    }
    // Call it before a call that sends this range.
    void passed(const Range& range) {
        std::fill_n(place_of(first_place + range.offset), range.length, true);
    }
    // Returns whether bytes of the lane were passed to a call and are not known to be durable.
    [[nodiscard]] bool has_unacknowledged(unsigned lane) const {
        const auto first = owed_.begin() + static_cast<std::ptrdiff_t>(
                                               first_place + std::size_t{lane} * region_size);
        return std::find(first, first + region_size, true) != first + region_size;
    }

    // Call it when an operation of a lane has ended.
    void operated(const LaneOperation& operation) {
        WatchedCall& call = calls_.at(world_.current());
        bool is_new = operation.frames > call.max_frames;
        call.max_frames = std::max(call.max_frames, operation.frames);
        for (const auto& [offset, length] : operation.after)
            std::fill_n(is_left_.begin() + static_cast<std::ptrdiff_t>(offset), length, true);
        for (const auto& [offset, length] : operation.before)
            for (std::size_t i = offset; i < offset + length; ++i)
                if (owed_[i] != 0 && is_left_[i] == 0) {
                    is_new = true;
                    owed_[i] = false;
                }
        for (const auto& [offset, length] : operation.after)
            std::fill_n(is_left_.begin() + static_cast<std::ptrdiff_t>(offset), length, false);
        // The call notices progress and a failure only when the operation ends.
        if (is_new) {
            call.silences.back().until = world_.now();
            call.silences.push_back({.since = world_.now(), .took = took_});
        }
        if (Silence& silence = call.silences.back(); operation.has_failed && !silence.noticed)
            silence.noticed = world_.now();
    }

    // Call it when a call has returned 0 without the target. The lane has nothing to send then.
    void promised(unsigned lane) {
        std::fill_n(place_of(first_place + std::size_t{lane} * region_size), region_size, false);
    }
    // Call it when nothing is left to send: the program is dead, or its replica has caught up.
    void forget_all() { std::ranges::fill(owed_, std::uint8_t{0}); }

    void login_begins() { login_began_ = world_.now(); }
    // Call it when a call can use the session of the last login.
    void session_is_up() {
        if (!login_began_)
            return;
        took_ = world_.now() - *login_began_;
        login_began_.reset();
        for (auto& [fiber, call] : calls_)
            if (Silence& silence = call.silences.back(); !silence.noticed)
                silence.took = std::max(silence.took, took_);
    }
    // Call it when the process continues after it was stopped for TIME.
    void resumed(Time time) {
        for (auto& [fiber, call] : calls_) {
            call.silences.back().stopped += time;
            call.silences.back().resumed = world_.now();
        }
    }

private:
    [[nodiscard]] std::vector<std::uint8_t>::iterator place_of(std::size_t offset) {
        return owed_.begin() + static_cast<std::ptrdiff_t>(offset);
    }

    static inline CallWatch* running = nullptr;

    World& world_;
    std::vector<std::uint8_t> owed_;    // by byte: passed to a call, and not acknowledged since
    std::vector<std::uint8_t> is_left_; // by byte, within operated()
    std::map<const Fiber*, WatchedCall> calls_;
    Time took_ = 0; // from the start of the last login until its session was up
    std::optional<Time> login_began_;
};

} // namespace rpmem::simulation::sessions
