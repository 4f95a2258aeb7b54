// SPDX-License-Identifier: BSD-3-Clause
// Accepts the lanes of a session and serves them with workers. Only the control loop calls its
// public functions.
#pragma once

#include "common/base/log.hpp"
#include "common/transport/lane_auth.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/lanes/frame_worker.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::target {

class LaneServer {
public:
    virtual ~LaneServer() = default;
    LaneServer(const LaneServer&) = delete;
    LaneServer& operator=(const LaneServer&) = delete;

    [[nodiscard]] virtual std::uint16_t port() const = 0;
    [[nodiscard]] virtual unsigned lanes() const = 0;
    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(workers_.size()); }
    // Returns the counters of each worker. They remain valid after the server ends.
    [[nodiscard]] std::vector<std::shared_ptr<const WorkerCounters>> counters() const;
    // Returns the provider and its device for display.
    [[nodiscard]] virtual std::string describe() const = 0;
    // The key and the base address for RDMA to the pool. Both are 0 without direct access. With a
    // base of 0 the peer uses offsets.
    [[nodiscard]] virtual std::uint64_t key() const { return 0; }
    [[nodiscard]] virtual std::uint64_t remote_base() const { return 0; }
    // Returns whether peers read and write the pool by RDMA.
    [[nodiscard]] virtual bool is_direct() const { return false; }

    // Sets the keys for the handshake of lanes. Before this call, only lanes of protocol 0.1 are
    // accepted.
    virtual Result<> secure(transport::ProofSession session) {
        session_.emplace(std::move(session));
        return {};
    }

    // Sets what must succeed before the first lane is accepted. Otherwise the session ends.
    void set_before_first_lane(std::function<Result<>()> call) { before_first_ = std::move(call); }

    // Ends the workers because the session ends early. Reports WHY to the initiator on each lane
    // that can still send. Does not wait.
    virtual void end(const std::string& why) {
        for (const auto& worker : workers_)
            worker->end(why);
    }

    // Returns the number of connections so far. Ended ones count, too, so a lane that connects
    // again counts twice.
    [[nodiscard]] unsigned connected() const { return connected_; }
    // Returns whether the peer may have written to the pool.
    [[nodiscard]] virtual bool was_reached() const { return connected_ > 0; }
    // Returns whether the peer may have changed the pool: it has sent a write, or can write without
    // frames.
    [[nodiscard]] bool may_have_written() const;
    // Returns whether the lanes that the peer must connect before it uses the pool have connected.
    [[nodiscard]] virtual bool ready() const = 0;

    // The descriptor is readable when handle_events() has work.
    [[nodiscard]] virtual int events_fd() const = 0;
    // Processes the events of the connections.
    virtual Result<> handle_events() = 0;
    // Polls FDS, for at most LIMIT. Also returns when handle_events() has work that events_fd()
    // does not report. FDS should contain events_fd().
    virtual Result<> wait(std::span<pollfd> fds, std::chrono::milliseconds limit) = 0;

    // The descriptor is readable after a failure. failure() returns why the session must end, or
    // an empty text.
    [[nodiscard]] int failure_fd() const { return failed_.fd(); }
    [[nodiscard]] std::string failure() const {
        const std::lock_guard lock(failure_mutex_);
        return failure_;
    }

protected:
    struct ServedPool {
        std::span<std::byte> memory; // must outlive the server
        const Medium& medium;
        bool read_only; // mapped read-only
        bool digests;   // see wire::LaneTerms
    };

    LaneServer(const ServedPool& pool, Event failed, Log log)
        : pool_(pool), log_(std::move(log)), failed_(std::move(failed)) {}

    // Returns the number of workers for LANES: WANTED, or one per processor if that is 0, and at
    // most one per lane.
    static unsigned count_workers(unsigned wanted, unsigned lanes);
    Result<> add_worker(std::unique_ptr<transport::Group> group);
    // Call it before a lane is accepted, in the control loop.
    [[nodiscard]] bool may_accept();
    // A lane that connects again gets the same worker.
    [[nodiscard]] std::size_t worker_of(unsigned lane) const { return lane % workers_.size(); }
    // Passes a lane to its worker. Returns false if the thread cannot start. The session then ends.
    bool serve(unsigned lane, std::unique_ptr<transport::LaneConnection> connection,
               const wire::LaneCredits& credits, bool direct);
    // Called in the thread of a worker, see FrameWorker::Ended.
    virtual void lane_ended(unsigned lane, const std::string& how, std::string error_text);
    // Calls poll(2) until DEADLINE, if there is one, and for at most LIMIT.
    static Result<> wait_until(std::optional<std::chrono::steady_clock::time_point> deadline,
                               std::span<pollfd> fds, std::chrono::milliseconds limit);
    // Records a failure, after which the session must end. Keeps the first one, because later ones
    // are its consequences. Thread-safe.
    void fail_by(std::string text) {
        {
            const std::lock_guard lock(failure_mutex_);
            if (failure_.empty())
                failure_ = std::move(text);
        }
        failed_.raise();
    }

    ServedPool pool_;
    Log log_;
    std::optional<transport::ProofSession> session_;
    std::atomic<unsigned> connected_ = 0;
    // Derived servers end the workers in their destructors, because workers call lane_ended().
    std::vector<std::unique_ptr<FrameWorker>> workers_;

private:
    std::function<Result<>()> before_first_; // empty when it has succeeded
    Event failed_;
    mutable std::mutex failure_mutex_;
    std::string failure_;
};

} // namespace rpmem::target
