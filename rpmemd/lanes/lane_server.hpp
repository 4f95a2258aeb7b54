// SPDX-License-Identifier: BSD-3-Clause
// The in-band side of a session: accepts lanes and serves them. Only the control loop uses it.
#pragma once

#include "common/base/log.hpp"
#include "common/transport/proof.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/lanes/frame_worker.hpp"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
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
    // The counters of each; they may be read when the server has gone.
    [[nodiscard]] std::vector<std::shared_ptr<const WorkerCounters>> counters() const;
    // The provider and its device, for people.
    [[nodiscard]] virtual std::string describe() const = 0;
    // The address of the pool for peers. 0: they use its offsets.
    [[nodiscard]] virtual std::uint64_t key() const { return 0; }
    [[nodiscard]] virtual std::uint64_t remote_base() const { return 0; }
    // Peers write and read the pool themselves.
    [[nodiscard]] virtual bool is_direct() const { return false; }

    // The secret that lanes must know. Before the first of them may come.
    virtual Result<> secure(transport::ProofSession session) {
        session_.emplace(std::move(session));
        return {};
    }

    // The session ends before its time: lanes that can hear WHY are told. Does not wait.
    virtual void end(const std::string& why) {
        for (const auto& worker : workers_)
            worker->end(why);
    }

    [[nodiscard]] unsigned connected() const { return connected_; } // so far
    // Somebody may have written to the pool.
    [[nodiscard]] virtual bool was_reached() const { return connected_ > 0; }
    // As many are connected as the peer connects before it uses the pool.
    [[nodiscard]] virtual bool ready() const = 0;

    // Readable when handle_events() has something to do.
    [[nodiscard]] virtual int events_fd() const = 0;
    // Takes in what happened to the connections.
    virtual Result<> handle_events() = 0;
    // Returns when one of FDS is ready, when handle_events() has something to do, or after LIMIT.
    // Lanes may be served meanwhile.
    virtual Result<> wait(std::span<pollfd> fds, std::chrono::milliseconds limit) = 0;

    // Readable when failure() has something to tell: why the session must end. Empty: it goes on.
    [[nodiscard]] int failure_fd() const { return failed_.fd(); }
    [[nodiscard]] std::string failure() const {
        const std::lock_guard lock(failure_mutex_);
        return failure_;
    }

protected:
    // The pool that lanes serve.
    struct ServedPool {
        std::span<std::byte> memory; // it must outlive the server
        const Medium& medium;
        bool read_only; // it is mapped so
    };

    LaneServer(const ServedPool& pool, Event failed, Log log)
        : pool_(pool), log_(std::move(log)), failed_(std::move(failed)) {}

    // How many workers serve LANES. WANTED 0: as many as there are processors.
    static unsigned count_workers(unsigned wanted, unsigned lanes);
    Result<> add_worker(std::unique_ptr<transport::Group> group);
    // Lanes of the same number have the same worker.
    [[nodiscard]] std::size_t worker_of(unsigned lane) const { return lane % workers_.size(); }
    // False: there is no thread for it, and the session ends.
    bool serve(unsigned lane, std::unique_ptr<transport::Connection> connection,
               const wire::LaneCredits& credits, bool direct);
    // From a worker's thread. PROBLEM: see FrameWorker::Ended.
    virtual void lane_ended(unsigned lane, const std::string& how, std::string problem);
    // poll(2), until DEADLINE if there is one, and for LIMIT at most.
    static Result<> wait_until(std::optional<std::chrono::steady_clock::time_point> deadline,
                               std::span<pollfd> fds, std::chrono::milliseconds limit);
    // From any thread. The first is kept: the others follow from it.
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
    // They use what derived servers have, whose destructors end them.
    std::vector<std::unique_ptr<FrameWorker>> workers_;

private:
    Event failed_;
    mutable std::mutex failure_mutex_;
    std::string failure_;
};

} // namespace rpmem::target
