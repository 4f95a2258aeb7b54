// SPDX-License-Identifier: BSD-3-Clause
// Observes the lanes of the program: when the target has acknowledged a range of a call for the
// first time, and when the call has noticed a loss. It knows nothing of CallBound, so that it can
// judge it. What lanes do comes from watch_functions.cpp.
#pragma once

#include "librpmem/lanes/frame_lane.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "tests/simulation/model.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace rpmem::simulation::sessions {

using Ranges = std::vector<initiator::PoolRange>; // offsets include the header

// The time of a call without a newly acknowledged range.
struct Silence {
    Time since;                    // when the call began, or knew such a range
    Time until = 0;                // likewise, or when it ended
    std::optional<Time> noticed{}; // the first loss meanwhile
    Time took = 0;                 // the login of the session that was lost then
    Time stopped = 0;              // of the process, meanwhile
    Time resumed = 0;              // when the process went on the last time
};

// One call of the API.
struct WatchedCall {
    Time began;
    std::vector<Silence> silences; // the last one goes on
    std::uint64_t max_frames = 0;  // that its own operation had acknowledged in one session
};

// What one operation of a lane has come to.
struct LaneOperation {
    Ranges before;        // that were not acknowledged, and what the operation has sent
    Ranges after;         // those of them that still are not
    std::uint64_t frames; // acknowledged of the call's own operation, which each session repeats
    bool has_failed;
};

class CallWatch {
public:
    explicit CallWatch(World& world)
        : world_(world), owed_(target::header_size + pool_size), is_left_(owed_.size()) {
        running = this;
    }
    ~CallWatch() { running = nullptr; }
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;

    // Null: the fiber that runs makes no call that is watched.
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
    // The call writes this range.
    void passed(const Range& range) {
        std::fill_n(place_of(target::header_size + range.offset), range.length, true);
    }
    // Something of the lane was passed to a call and is not known to be durable.
    [[nodiscard]] bool has_unacknowledged(unsigned lane) const {
        const auto first =
            owed_.begin() +
            static_cast<std::ptrdiff_t>(target::header_size + std::size_t{lane} * region_size);
        return std::find(first, first + region_size, true) != first + region_size;
    }

    // An operation of a lane has ended.
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
        // It knows of both when the operation has ended.
        if (is_new) {
            call.silences.back().until = world_.now();
            call.silences.push_back({.since = world_.now(), .took = took_});
        }
        if (Silence& silence = call.silences.back(); operation.has_failed && !silence.noticed)
            silence.noticed = world_.now();
    }

    void login_begins() { login_began_ = world_.now(); }
    // A call has got the session that the last login led to.
    void session_is_up() {
        if (!login_began_)
            return;
        took_ = world_.now() - *login_began_;
        login_began_.reset();
        for (auto& [fiber, call] : calls_)
            if (Silence& silence = call.silences.back(); !silence.noticed)
                silence.took = std::max(silence.took, took_);
    }
    // The process was stopped for TIME, and goes on.
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
    Time took_ = 0; // from the login on, until the session was up
    std::optional<Time> login_began_;
};

} // namespace rpmem::simulation::sessions
