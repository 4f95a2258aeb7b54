// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/frame_worker.hpp"

#include "common/base/quiet_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace rpmem::target {
namespace {

// Any value works, because frames and stop() wake the worker.
constexpr std::chrono::minutes max_sleep(10);

// Time for an initiator to read why its session ends, and to close its lane.
constexpr std::chrono::seconds leaving_time(3);
constexpr std::chrono::milliseconds leaving_tick(50);

// Returns true if nothing more can be sent. After a protocol violation ended() returns true, but an
// error can still be sent.
bool has_closed(const transport::LaneConnection& connection) {
    return connection.fd() < 0 ||
           (connection.ended() && !transport::can_notify_peer(connection.failure().fault));
}

} // namespace

Result<std::unique_ptr<FrameWorker>> FrameWorker::make(std::unique_ptr<transport::Group> group,
                                                       Ended ended) {
    RPMEM_ASSIGN(auto wake, Event::make());
    return std::unique_ptr<FrameWorker>(
        new FrameWorker(std::move(group), std::move(wake), std::move(ended)));
}

FrameWorker::~FrameWorker() { stop(); }

void FrameWorker::add(std::unique_ptr<ServedLane> lane) {
    {
        const std::lock_guard lock(arriving_);
        arrived_.push_back(std::move(lane));
    }
    wake_.raise();
}

Result<> FrameWorker::take(std::unique_ptr<ServedLane> lane) {
    add(std::move(lane));
    if (thread_.joinable())
        return {};
    try {
        thread_ = start_without_signals([this] { run(); });
    } catch (const std::system_error& error) {
        Failure failure = fail_errno(ErrorClass::resource_limit, error.code().value(),
                                     "cannot start a thread (see the limit 'ulimit -u')");
        arrived_.back()->send_error(wire::ErrorKind::resources, error.code().value(),
                                    failure.value().text);
        return failure;
    }
    return {};
}

void FrameWorker::end(std::string why) {
    {
        const std::lock_guard lock(arriving_);
        end_text_ = std::move(why);
    }
    stopping_ = true;
    wake_.raise();
}

void FrameWorker::stop() {
    stopping_ = true;
    wake_.raise();
    if (thread_.joinable())
        thread_.join();
}

// An exception here is usually std::bad_alloc. Only its text is reported, because a string that
// short needs no memory. The lanes end with the process.
void FrameWorker::run() try {
    take_arrived();
    while (turn()) {
    }
} catch (const std::exception& exception) {
    ended_(0, {}, exception.what());
}

bool FrameWorker::turn() {
    const auto limit = leaving_.empty() ? std::chrono::milliseconds(max_sleep) : leaving_tick;
    const transport::WaitResult waited = group_->wait(limit, wake_.fd());
    if (waited == transport::WaitResult::woken) {
        wake_.clear();
        take_arrived();
    }
    if (waited == transport::WaitResult::timed_out)
        group_->progressed(); // otherwise the next wait() would time out at once
    serve_ready();
    if (stopping_)
        take_leave();
    if (!leaving_.empty())
        look_after_leaving();
    return !stopping_ || !leaving_.empty();
}

void FrameWorker::take_arrived() {
    std::vector<std::unique_ptr<ServedLane>> arrived;
    {
        const std::lock_guard lock(arriving_);
        arrived.swap(arrived_);
    }
    for (auto& lane : arrived) {
        transport::LaneConnection& connection = lane->connection();
        if (const auto added = group_->add(connection); !added) {
            lane->send_error(wire::ErrorKind::resources, added.error().code, added.error().text);
            ended_(lane->index(), added.error().text, {});
            continue;
        }
        lanes_.emplace(&connection, std::move(lane));
        ready_.push_back(&connection); // frames may have arrived already
    }
    counters_->lanes.set(lanes_.size());
}

void FrameWorker::serve_ready() {
    ready_.insert(ready_.end(), group_->ready().begin(), group_->ready().end());
    std::size_t served = 0;
    for (transport::LaneConnection* const connection : ready_) {
        const auto lane = lanes_.find(connection);
        if (lane == lanes_.end())
            continue; // the lane is in leaving_, or was in ready_ twice
        const bool goes_on = lane->second->serve();
        served += lane->second->served_bytes();
        if (goes_on)
            continue;
        std::unique_ptr<ServedLane> ended = std::move(lane->second);
        lanes_.erase(lane);
        counters_->lanes.set(lanes_.size());
        end_lane(std::move(ended));
    }
    ready_.clear();
    if (served > 0)
        group_->progressed();
}

void FrameWorker::end_lane(std::unique_ptr<ServedLane> lane) {
    const std::string error_text = lane->error_text();
    counters_->ended_lanes.add(1);
    counters_->failures.add(error_text.empty() ? 0 : 1);
    if (!error_text.empty())
        lane->send_error();
    ended_(lane->index(), lane->connection().failure().text, error_text);
    if (!error_text.empty() && !has_closed(lane->connection()))
        leaving_.push_back({std::move(lane), Clock::now() + leaving_time, true});
    else
        group_->remove(lane->connection());
}

// Ends the lanes sorted by index, so that a simulation is reproducible. wait() may have returned
// without a look at the event that announces new lanes, and they get the text, too.
void FrameWorker::take_leave() {
    take_arrived();
    std::vector<std::unique_ptr<ServedLane>> lanes;
    for (auto& [connection, lane] : std::exchange(lanes_, {}))
        lanes.push_back(std::move(lane));
    std::ranges::sort(lanes, {}, &ServedLane::index);
    std::string why;
    {
        const std::lock_guard lock(arriving_);
        why = end_text_;
    }
    for (auto& lane : lanes) {
        if (why.empty()) {
            group_->remove(lane->connection());
        } else if (!lane->serve()) {
            end_lane(std::move(lane));
        } else {
            lane->send_error(wire::ErrorKind::ending, ECONNRESET, why);
            leaving_.push_back({std::move(lane), Clock::now() + leaving_time, false});
        }
    }
}

void FrameWorker::look_after_leaving() {
    std::erase_if(leaving_, [this](ClosingLane& each) {
        static_cast<void>(each.lane->serve());
        transport::LaneConnection& connection = each.lane->connection();
        const bool is_done = has_closed(connection) || (!each.awaits_peer && !connection.unsent());
        if (!is_done && Clock::now() < each.until)
            return false;
        group_->remove(connection);
        return true;
    });
}

} // namespace rpmem::target
