// SPDX-License-Identifier: BSD-3-Clause
// The target's side of a lane that carries frames: checks, copies, makes durable, acknowledges.
// Used by one worker's thread.
#pragma once

#include "common/transport/transport.hpp"
#include "common/wire/lane_rules.hpp"
#include "rpmemd/durability/dirty_ranges.hpp"
#include "rpmemd/durability/medium.hpp"
#include "rpmemd/statistics/worker_counters.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace rpmem::target {

class ServedLane final : private transport::Receiver {
public:
    // POOL has TERMS.pool_size bytes. COUNTERS: of the worker.
    ServedLane(unsigned index, std::unique_ptr<transport::Connection> connection,
               const wire::LaneTerms& terms, std::byte* pool, const Medium& medium,
               WorkerCounters& counters);

    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] transport::Connection& connection() { return *connection_; }

    // Takes what has come, makes it durable and answers it. False: the lane has ended.
    [[nodiscard]] bool serve();
    // Bytes that the last call of serve() took.
    [[nodiscard]] std::size_t served_bytes() const { return served_bytes_; }
    // Why the session must end: the initiator broke the rules, or the medium failed. Empty: it goes
    // on, though the lane may have ended.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    // Tells the initiator of the problem, if it listens, and that nothing follows.
    void send_error();
    // The same of what is no fault of this lane, which takes nothing more.
    void say(wire::ErrorKind kind, int code, const std::string& why);

private:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override;
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override;
    bool end(const wire::FrameHeader& header, std::string& why) override;
    void count(const wire::FrameHeader& header);
    void make_durable(const wire::FrameHeader& header);
    void acknowledge();
    void answer_reads();
    void note(std::string problem);
    void find_unreadable_page() const;

    unsigned index_;
    std::unique_ptr<transport::Connection> connection_;
    std::byte* pool_;
    const Medium& medium_;
    WorkerCounters& counters_;
    wire::RequestRules requests_;
    DirtyRanges dirty_;
    // Without data yet; as many as the rules allow.
    std::array<wire::FrameHeader, wire::max_reads> reads_{};
    std::size_t first_read_ = 0;
    std::size_t read_count_ = 0;
    std::size_t served_bytes_ = 0;
    std::string problem_;
    std::string last_words_; // of say(), until they are sent
};

} // namespace rpmem::target
