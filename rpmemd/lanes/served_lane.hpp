// SPDX-License-Identifier: BSD-3-Clause
// The target's end of a lane: checks the frames, copies them into the pool, makes ranges durable
// and sends acks. Only the thread of a worker uses it.
#pragma once

#include "common/transport/transport.hpp"
#include "common/wire/block_digest.hpp"
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
    // POOL has TERMS.pool_size bytes. COUNTERS belong to the worker.
    ServedLane(unsigned index, std::unique_ptr<transport::LaneConnection> connection,
               const wire::LaneTerms& terms, std::byte* pool, const Medium& medium,
               WorkerCounters& counters);

    [[nodiscard]] unsigned index() const { return index_; }
    [[nodiscard]] transport::LaneConnection& connection() { return *connection_; }

    // Processes the frames that have arrived, and sends data and due acks. Returns false if the
    // lane has ended.
    [[nodiscard]] bool serve();
    // Returns what LaneConnection::poll() returned in the last call of serve().
    [[nodiscard]] std::size_t served_bytes() const { return served_bytes_; }
    // Returns why the session must end: a protocol violation, a failure of the medium, or the error
    // of send_error(). Empty otherwise, even if the lane has ended.
    [[nodiscard]] const std::string& error_text() const { return error_text_; }
    // Posts error_text() to the initiator and closes the connection.
    void send_error();
    // Posts an error that this lane did not cause, and closes the connection.
    void send_error(wire::ErrorKind kind, int code, const std::string& why);

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
    [[nodiscard]] std::span<const std::byte> digests_of(const wire::FrameHeader& request);
    void digest(std::byte* range, std::size_t size, std::span<wire::BlockDigest> digests) const;
    void set_error_text(std::string error_text);
    void find_unreadable_page() const;

    unsigned index_;
    std::unique_ptr<transport::LaneConnection> connection_;
    std::byte* pool_;
    const Medium& medium_;
    WorkerCounters& counters_;
    wire::RequestRules requests_;
    DirtyRanges dirty_;
    // Reads and digests whose data were not sent yet, a ring. RequestRules limit their number.
    std::array<wire::FrameHeader, wire::max_reads> reads_{};
    std::size_t first_read_ = 0;
    std::size_t read_count_ = 0;
    std::size_t served_bytes_ = 0;
    std::string error_text_;
    std::string sent_text_; // the payload of send_error(), until it is sent
    // The payloads of answers to digest frames, until they are sent.
    std::array<std::array<wire::BlockDigest, wire::max_digests>, wire::max_reads> digests_{};
    std::size_t digests_used_ = 0; // elements of digests_ that were posted
    std::uint64_t digested_ = 0;   // number of the frame whose digests are in the next element
};

} // namespace rpmem::target
