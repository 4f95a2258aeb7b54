// SPDX-License-Identifier: BSD-3-Clause
// One lane of a pool, used by one thread at a time. The operations do not allocate, lock or throw,
// unless the lane has failed or its WaitInterrupt has woken it.
#pragma once

#include "common/transport/transport.hpp"
#include "common/wire/block_digest.hpp"
#include "common/wire/lane_rules.hpp"
#include "librpmem/lanes/pool_range.hpp"

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

using transport::WaitInterrupt;

// Returns the maximum number of bytes that one frame reads.
[[nodiscard]] std::size_t max_read_piece(std::size_t max_payload);

// Ranges longer than these are written directly, without the target's processor, if the target
// allows direct access.
struct DirectRanges {
    std::size_t relaxed = std::size_t{4} * 1024;
    std::size_t strict = std::numeric_limits<std::size_t>::max();
};

// All operations return 0 or a positive errno value: EBADMSG if the target violated the protocol,
// EFAULT if memory of the application cannot be accessed, ETIMEDOUT or ECONNRESET. After a failure
// the lane is unusable, and every later wait returns the same value. Operations take effect in the
// order of the calls. With RELAXED, an aligned word of the range may be stored in parts. That
// happens only if the range is written directly.
class FrameLane final : private transport::Receiver {
public:
    // POOL is the memory of the application, TERMS.pool_size bytes. TIMEOUT bounds how long an
    // operation waits for the next complete frame from the target, or for the completion of the
    // next direct operation. Parts of a frame do not count.
    FrameLane(std::unique_ptr<transport::LaneConnection> connection,
              std::unique_ptr<transport::Group> group, const wire::LaneTerms& terms,
              std::byte* pool, WaitInterrupt interrupt, std::chrono::milliseconds timeout,
              const DirectRanges& direct_ranges = {});

    ~FrameLane() override;
    FrameLane(const FrameLane&) = delete;
    FrameLane& operator=(const FrameLane&) = delete;

    // Starts to send a range. It may be held back until others follow or drain() is called.
    [[nodiscard]] int flush(std::size_t offset, std::size_t length, bool relaxed);
    // Waits until everything that was flushed is durable.
    [[nodiscard]] int drain();
    [[nodiscard]] int persist(std::size_t offset, std::size_t length, bool relaxed);
    [[nodiscard]] int deep_persist(std::size_t offset, std::size_t length);
    // Like a flush of each range and a drain, but sends the copies. They are not read any more
    // after the call has returned, even with an error. A lost lane still counts the ranges as those
    // of the pool.
    [[nodiscard]] int persist_copies(std::span<const CopiedRange> ranges);
    // Like persist_copies(), but waits only until everything up to DURABLE is durable, which is a
    // value of last_sent(), or 0. The other copies are read until they are durable, or until
    // abandon_copies().
    [[nodiscard]] int send_copies(std::span<const CopiedRange> ranges, std::uint64_t durable);
    // Returns the number of the last frame for which the target sends an ack.
    [[nodiscard]] std::uint64_t last_sent() const { return responses_.last_write(); }
    // Lends the memory of copies to the connection, see LaneConnection::lend(). Without that,
    // libfabric sends them in small pieces.
    void lend_copies(std::span<std::byte> memory) { are_copies_lent_ = connection_->lend(memory); }
    // Ends the connection at once, so that no copy is read any more.
    void abandon_copies();
    // After it has returned, even with an error, nothing is stored in DESTINATION any more.
    [[nodiscard]] int read(std::byte* destination, std::size_t offset, std::size_t length);
    // Stores the target's digests of the blocks of a range, see common/wire/block_digest.hpp. They
    // are those of the pool after all earlier operations. Calls MEANWHILE while the target computes
    // them, and after an exception of it the lane has ended. OFFSET must be a multiple of
    // wire::digest_block, and DIGESTS must have wire::digest_count(LENGTH) elements, otherwise it
    // returns EINVAL. Returns ENOTSUP if the target does not support digests. After these two codes
    // the lane is still usable. Leaves DIGESTS alone after it has returned, like read().
    [[nodiscard]] int digests(std::span<wire::BlockDigest> digests, std::size_t offset,
                              std::size_t length, const std::function<void()>& meanwhile = {});

    // Whether a range was sent that is not known to be durable.
    [[nodiscard]] bool has_unacknowledged() const {
        return responses_.acknowledged() < responses_.last_write() || !written_.empty();
    }
    // Appends the ranges of frames and of direct writes that are not known to be durable. A range
    // of a call may appear as several smaller ones.
    void add_unconfirmed(std::vector<PoolRange>& ranges) const;
    // Limits waits to TIME until progress() increases.
    void limit_waits(std::chrono::milliseconds time) {
        timeout_ = std::min(time, operation_timeout_);
        limited_at_ = progress();
    }
    // Increases with each acknowledged frame, and with each frame of data that has arrived.
    [[nodiscard]] std::uint64_t progress() const {
        return responses_.acknowledged() + responses_.reads_ended();
    }
    // Returns the error text of the target if it has sent one, otherwise failure().
    [[nodiscard]] std::string violation() const;
    // Returns why the lane has ended, as this end has noticed it.
    [[nodiscard]] const std::string& failure() const { return connection_->failure().text; }
    // Returns the error text of the target, or an empty string if it has sent none.
    [[nodiscard]] const std::string& output() const { return target_error_; }
    // Makes the lane count in COUNTER how often it has waited for credits.
    void count_waits_in(std::uint64_t& counter) { waits_ = &counter; }
    // Closes the descriptors in a child made by fork(2). The parent continues to use its own.
    void release_in_child() { connection_->release_in_child(); }

private:
    // How ranges are written that are longer than direct_ranges_. Shorter ones are sent in frames.
    //   frames     in frames
    //   direct     directly; a frame after each asks the target to make it durable
    //   appliance  directly; a write is durable when a later read has completed
    enum class Method { frames, direct, appliance };

    // Maximum number of direct writes of the appliance method that no read has confirmed. When
    // there are so many, a read confirms them before the next write.
    static constexpr std::size_t max_unconfirmed_writes = 1024;

    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override;
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override;
    bool end(const wire::FrameHeader& header, std::string& why) override;

    int send(std::size_t offset, std::size_t length, std::uint8_t last_flags,
             transport::More last_more);
    int flush_copy(CopiedRange range);
    int send_pieces(std::size_t offset, std::size_t length, std::uint8_t last_flags,
                    transport::More last_more);
    int post_now(wire::FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
                 transport::More more);
    int post(wire::FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
             transport::More more);
    int ask_for_ack();
    int wait_for_acks();
    // Receives what has arrived, or waits. If the connection has ended after bytes have arrived,
    // this call succeeds, and the next one returns the failure.
    [[gnu::always_inline]] int make_progress() {
        return connection_->poll(*this) == 0 ? wait_for_news() : 0;
    }
    int wait_for_room();
    int wait_for_news();
    int sleep_for_news();
    int wait_is_over();
    int after_the_end() const;
    int read_pieces(std::byte* destination, std::size_t offset, std::size_t length);
    int request_digests(std::span<std::byte> place, std::size_t offset, std::size_t length);
    int request_data(wire::FrameType type, std::span<std::byte> place, std::size_t offset,
                     std::uint32_t length);
    int await_data();

    // Direct access to the memory of the target, see direct_access.cpp.
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

    std::unique_ptr<transport::Group> group_; // must outlive the connection
    std::unique_ptr<transport::LaneConnection> connection_;
    wire::ResponseRules responses_;
    std::byte* pool_;
    WaitInterrupt interrupt_;
    const std::chrono::milliseconds operation_timeout_;
    std::chrono::milliseconds timeout_; // operation_timeout_, or less until progress() changes
    std::uint64_t limited_at_ = 0;      // progress() when timeout_ was reduced
    std::size_t coalesced_ = 0;         // bytes of the frames that are held back
    bool ack_is_asked_ = true;          // an ack was requested for everything sent
    bool are_copies_lent_ = false;      // so the size of a piece has no other limit
    Method method_;
    DirectRanges direct_ranges_;
    bool answers_each_; // the target acknowledges each frame without a request
    int failure_ = 0;   // result of the first wait that has failed
    std::uint64_t own_waits_ = 0;
    std::uint64_t* waits_ = &own_waits_;
    std::uint64_t last_data_ = 0; // number of the last frame with data
    // Unconfirmed direct writes with the appliance method. Never reallocated.
    std::vector<PoolRange> written_;
    // Destinations of open reads and digests.
    std::array<std::span<std::byte>, wire::max_reads> places_{};
    std::string target_error_; // error text of the target
};

} // namespace rpmem::initiator
