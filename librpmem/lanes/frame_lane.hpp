// One lane that carries frames. Used by one thread at a time. Nothing here allocates, locks or
// throws, unless the lane breaks or the alarm goes off.
#pragma once

#include "base/hot.hpp"
#include "lanes/alarm.hpp"
#include "transport/transport.hpp"
#include "wire/lane_rules.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rpmem {

// All operations return 0, or a positive errno value after which the lane is of no more use:
// EBADMSG if the target broke the rules, ETIMEDOUT, ECONNRESET. complaint() has the words.
class FrameLane final : private transport::Receiver {
public:
    // POOL is the application's memory; it has TERMS.pool_size bytes. TIMEOUT: for an operation, of
    // which nothing comes.
    FrameLane(std::unique_ptr<transport::Connection> connection,
              std::unique_ptr<transport::Group> group, const wire::LaneTerms& terms,
              std::byte* pool, Alarm alarm, std::chrono::milliseconds timeout);

    // What is started here takes effect in the order of the calls.

    // Starts to send a range; it may wait for others, or for drain().
    [[nodiscard]] int flush(std::size_t offset, std::size_t length);
    // All that was flushed is durable.
    [[nodiscard]] int drain();
    [[nodiscard]] RPMEM_HOT int persist(std::size_t offset, std::size_t length);
    [[nodiscard]] int deep_persist(std::size_t offset, std::size_t length);
    // When it has returned, nothing more comes to DESTINATION.
    [[nodiscard]] int read(std::byte* destination, std::size_t offset, std::size_t length);

    // Something was flushed and is not known to be durable.
    [[nodiscard]] bool owes() const { return responses_.acknowledged() < responses_.last_write(); }
    [[nodiscard]] const std::string& complaint() const;
    // See transport::Connection.
    void close() { connection_->close(); }
    void let_go() { connection_->let_go(); }

private:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override;
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override;
    bool end(const wire::FrameHeader& header, std::string& why) override;

    int send(std::size_t offset, std::size_t length, std::uint8_t last_flags,
             transport::More last_more);
    int post(wire::FrameType type, std::uint8_t flags, std::size_t offset, std::uint32_t length,
             transport::More more);
    int wait_for_acks();
    int make_progress();
    int after_the_end() const;
    int read_pieces(std::byte* destination, std::size_t offset, std::size_t length);

    std::unique_ptr<transport::Group> group_; // outlives the connection
    std::unique_ptr<transport::Connection> connection_;
    wire::Responses responses_;
    std::byte* pool_;
    Alarm alarm_;
    std::chrono::milliseconds timeout_;
    std::size_t gathered_ = 0; // bytes of the frames that wait for others
    bool ack_is_asked_ = true; // for the last write
    std::array<std::span<std::byte>, wire::most_reads> places_{}; // of the reads without data
    std::string last_words_;                                      // of the target
};

} // namespace rpmem
