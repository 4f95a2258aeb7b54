// SPDX-License-Identifier: BSD-3-Clause
// The thread of a pool with RPMEM_ON_LOSS=alone. While the replica is away, it tries to open a
// session again, for ever. In that session it sends the marked blocks on a lane that the
// application does not have, until little is left, and then joins: see Replica.
#pragma once

#include "common/base/log.hpp"
#include "librpmem/connection/link.hpp"
#include "librpmem/replica/block_sender.hpp"
#include "librpmem/replica/kept_attributes.hpp"
#include "librpmem/replica/rate_meter.hpp"
#include "librpmem/replica/replica.hpp"
#include "librpmem/replica/second_mapping.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rpmem::initiator {

class CatchUp {
public:
    struct Terms {
        std::size_t pool_size = 0;
        std::size_t first_writable = 0;
        unsigned lane = 0; // the lane that the application does not have
        std::string name{};
        KeptAttributes* kept = nullptr; // sent to the target before the join
    };

    // LINK and REPLICA must outlive it.
    CatchUp(Link& link, Replica& replica, Terms terms, const Settings& settings, Log log)
        : link_(link), replica_(replica), terms_(std::move(terms)), settings_(settings),
          log_(std::move(log)), sender_({}, terms_.first_writable),
          max_rate_(settings.catch_up_rate.value_or(0)) {}
    ~CatchUp() { stop(); }
    CatchUp(const CatchUp&) = delete;
    CatchUp& operator=(const CatchUp&) = delete;

    // Starts the thread. Fails with EAGAIN if it cannot be started.
    Result<> start();
    // The program goes on without the replica from now on. May be called under the mutex of Link.
    void leave(const Error& why, bool has_failed);
    // Requests of an operator, see catch_up_steering.cpp. May be called under the mutex of Link.
    // Nothing is sent from pause() until resume(), which tries to connect at once. Both fail if the
    // replica has failed for good.
    [[nodiscard]] Result<> pause();
    [[nodiscard]] Result<> resume();
    // Replaces RPMEM_CATCH_UP_RATE. 0: no limit.
    void limit_rate(std::uint64_t bytes_per_second);
    // Waits until the replica is in sync, for at most TIME. Returns whether it is.
    [[nodiscard]] bool await_in_sync(std::chrono::milliseconds time);
    // Bytes per second that are sent now, if the replica is catching up. Thread-safe.
    [[nodiscard]] std::uint64_t bytes_per_second() const { return meter_.per_second(Clock::now()); }
    // Upper bound of the bytes that the replica lacks. Thread-safe.
    [[nodiscard]] std::size_t behind_bytes() const;
    // Whether the program has written as fast as the replica catches up, so that its calls are
    // slowed down. Thread-safe.
    [[nodiscard]] bool is_outpaced() const { return replica_.pause().count() > 0; }
    // Says so for rpmem_replica_state(), with the limit.
    [[nodiscard]] std::string describe_outpaced() const;
    // What is sent. Call it before the program goes on alone.
    void set_source(SecondMapping source);
    // In the next session, all of the replica is compared, because the marks do not tell what it
    // lacks.
    void compare_first() { must_compare_ = true; }
    // Whether the replica is in sync and the record of the target still says that it is catching
    // up. Thread-safe.
    [[nodiscard]] bool owes_record() const { return owes_record_; }
    // Logs that the pool is closed while the replica is away, and how much the replica lacks.
    void log_closed_alone() const;
    // Ends the thread and its session. Waits for a login that has begun, which has a limit, and for
    // the answer to a request, for at most RPMEM_PEER_TIMEOUT.
    void stop() noexcept;

private:
    using Clock = std::chrono::steady_clock;

    void run();
    void wait(std::unique_lock<std::mutex>& lock, Clock::duration time);
    void begin_absence();
    void try_once();
    void use(std::shared_ptr<Connection> connection);
    void leave_session();
    void handle_failure(const Error& error);
    [[nodiscard]] Result<> catch_up(const std::shared_ptr<Connection>& connection);
    void distrust_map(const char* why);
    [[nodiscard]] Result<> compare(Connection& connection, FrameLane& lane);
    [[nodiscard]] Result<> send_marked(Connection& connection, FrameLane& lane);
    [[nodiscard]] Result<bool> join(const std::shared_ptr<Connection>& connection, FrameLane& lane);
    [[nodiscard]] bool is_little_left() const;
    void adjust_pause(std::size_t left);
    void keep_to_rate(std::size_t sent);
    void restart_pacing(std::size_t sent);
    [[nodiscard]] Result<> require_not_failed() const;
    [[nodiscard]] Result<> require_in_use();
    void store_record() noexcept;
    void show_figures();
    void report_progress(const char* what, std::size_t done); // blocks
    [[nodiscard]] bool is_stopping();

    Link& link_;
    Replica& replica_;
    Terms terms_;
    Settings settings_;
    Log log_;
    SecondMapping source_;
    BlockSender sender_;
    RateMeter meter_;
    std::thread thread_;

    std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    bool is_stopping_ = false;
    bool was_resumed_ = false;               // since the last wait()
    std::shared_ptr<Connection> connection_; // of the session that catches up

    std::atomic<std::uint64_t> max_rate_;    // bytes per second; 0: no limit
    std::atomic<bool> must_compare_ = false; // see compare_first()
    std::atomic<bool> owes_record_ = false;  // see owes_record()

    // Used by the thread only.
    std::chrono::milliseconds pause_{};
    unsigned tries_ = 0;
    unsigned stale_tries_ = 0; // consecutive attempts that the target has refused with ESTALE
    std::chrono::milliseconds gate_time_{}; // of the next join
    double rate_ = 0;                       // bytes per second of the last pass
    std::uint64_t paced_rate_ = 0;          // max_rate_ of the present pacing
    std::size_t paced_from_ = 0; // bytes of this pass that were sent before the present pacing
    Clock::time_point paced_since_{};
    std::size_t left_ = 0;     // blocks that were left after the last pass
    unsigned not_shrunk_ = 0;  // consecutive passes that did not reduce left_
    std::size_t sent_ = 0;     // blocks in this session
    Clock::time_point away_{}; // since when the replica is away
    Clock::time_point logged_{};
    Clock::time_point shown_{};
};

} // namespace rpmem::initiator
