// SPDX-License-Identifier: BSD-3-Clause
// One lane of a pool. Used by one thread at a time. Nothing here allocates, locks or throws, unless
// the lane breaks or the watch goes off.
#pragma once

#include "common/transport/transport.hpp"
#include "common/wire/lane_rules.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator {

using transport::LossWatch;

// Bytes that one frame reads at most.
[[nodiscard]] std::size_t max_read_piece(std::size_t max_payload);

struct PoolRange {
    std::size_t offset;
    std::size_t length;

    bool operator==(const PoolRange&) const = default;
};

// Longer ranges than these are better left to the device, and written directly where the target
// lets a lane do so.
struct DirectRanges {
    std::size_t relaxed = std::size_t{4} * 1024;
    std::size_t strict = std::numeric_limits<std::size_t>::max();
};

// All operations return 0, or a positive errno value after which the lane is of no more use, and
// which it returns again: EBADMSG if the target broke the rules, EFAULT if memory of the
// application cannot be accessed, ETIMEDOUT, ECONNRESET. They take effect in the order of the
// calls. RELAXED: the target need not store aligned words of the range as a whole; it does but for
// ranges that are written directly.
class FrameLane final : private transport::Receiver {
public:
    // POOL is the application's memory; it has TERMS.pool_size bytes. TIMEOUT bounds how long an
    // operation waits for the next whole frame of the target: parts of one do not count.
    FrameLane(std::unique_ptr<transport::Connection> connection,
              std::unique_ptr<transport::Group> group, const wire::LaneTerms& terms,
              std::byte* pool, LossWatch watch, std::chrono::milliseconds timeout,
              const DirectRanges& direct_ranges = {});

    ~FrameLane() override;
    FrameLane(const FrameLane&) = delete;
    FrameLane& operator=(const FrameLane&) = delete;

    // Starts to send a range; it may wait for others, or for drain().
    [[nodiscard]] int flush(std::size_t offset, std::size_t length, bool relaxed);
    // All that was flushed is durable.
    [[nodiscard]] int drain();
    [[nodiscard]] int persist(std::size_t offset, std::size_t length, bool relaxed);
    [[nodiscard]] int deep_persist(std::size_t offset, std::size_t length);
    // When it has returned, nothing more comes to DESTINATION.
    [[nodiscard]] int read(std::byte* destination, std::size_t offset, std::size_t length);

    // Something was flushed and is not known to be durable.
    [[nodiscard]] bool owes() const {
        return responses_.acknowledged() < responses_.last_write() || !written_.empty();
    }
    // Appends the ranges that were given to a call, in whole or in part, and are not known to be
    // durable.
    void add_unconfirmed(std::vector<PoolRange>& ranges) const;
    // From now on a wait ends after TIME, until a frame of the target has come.
    void limit_waits(std::chrono::milliseconds time) {
        timeout_ = std::min(time, operation_timeout_);
        limited_at_ = progress();
    }
    // Grows with each frame that is acknowledged, and with each read that has its data.
    [[nodiscard]] std::uint64_t progress() const {
        return responses_.acknowledged() + responses_.reads_ended();
    }
    // How the target broke the rules, or why it has ended the lane.
    [[nodiscard]] std::string complaint() const;
    // Why the lane has ended, as this end sees it.
    [[nodiscard]] const std::string& failure() const { return connection_->failure().text; }
    // The target's reason for ending the lane; empty: it gave none.
    [[nodiscard]] const std::string& output() const { return last_words_; }
    // From now on, how often it waits until the target has room for more.
    void count_waits_in(std::uint64_t& counter) { waits_ = &counter; }
    // In a child made by fork(2): lets go of descriptors, which the parent goes on using.
    void release_in_child() { connection_->release_in_child(); }

private:
    // By the device alone. One more waits until a read behind them has confirmed them.
    static constexpr std::size_t max_unconfirmed_writes = 1024;

    // How ranges are written: by frames only; by the device, with a frame behind that asks for
    // durability; or by the device alone, which makes them durable (the appliance method).
    enum class Method { frames, direct, appliance };

    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override;
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override;
    bool end(const wire::FrameHeader& header, std::string& why) override;

    int send(std::size_t offset, std::size_t length, std::uint8_t last_flags,
             transport::More last_more);
    int send_pieces(std::size_t offset, std::size_t length, std::uint8_t last_flags,
                    transport::More last_more);
    int post_now(wire::FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
                 transport::More more);
    int post(wire::FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
             transport::More more);
    int ask_for_ack();
    int wait_for_acks();
    [[gnu::always_inline]] int make_progress() {
        return connection_->poll(*this) == 0 ? wait_for_news() : 0;
        // if it has ended, the next call says so
    }
    int wait_for_room();
    int wait_for_news();
    int sleep_for_news();
    int wait_is_over();
    int after_the_end() const;
    int read_pieces(std::byte* destination, std::size_t offset, std::size_t length);

    // For a connection that writes and reads the target's memory: see direct_access.cpp.
    [[nodiscard]] bool goes_directly(std::size_t length, bool relaxed) const {
        return method_ != Method::frames &&
               length > (relaxed ? direct_ranges_.relaxed : direct_ranges_.strict);
    }
    int write_directly(std::size_t offset, std::size_t length, std::uint8_t last_flags);
    int confirm_writes();
    int await_reads();
    int read_directly(std::byte* destination, std::size_t offset, std::size_t length);
    int read_bounced(std::byte* destination, std::size_t offset, std::size_t length);
    int let_data_arrive();
    template <typename Post>
    int post_directly(Post post_operation);

    std::unique_ptr<transport::Group> group_; // outlives the connection
    std::unique_ptr<transport::Connection> connection_;
    wire::ResponseRules responses_;
    std::byte* pool_;
    LossWatch watch_;
    const std::chrono::milliseconds operation_timeout_;
    std::chrono::milliseconds timeout_; // that, or less until the progress is beyond limited_at_
    std::uint64_t limited_at_ = 0;
    std::size_t coalesced_ = 0; // bytes of the frames that wait for others
    bool ack_is_asked_ = true;  // for the last write
    Method method_;
    DirectRanges direct_ranges_;
    bool answers_each_; // frame, without being asked
    int failure_ = 0;   // what the lane has returned
    std::uint64_t own_waits_ = 0;
    std::uint64_t* waits_ = &own_waits_;
    std::uint64_t last_data_ = 0;    // number of the last frame that brings data
    std::vector<PoolRange> written_; // by the device alone, and not confirmed; never reallocated
    std::array<std::span<std::byte>, wire::max_reads> places_{}; // of the reads without data
    std::string last_words_;                                     // of the target
};

} // namespace rpmem::initiator
