// SPDX-License-Identifier: BSD-3-Clause
// A connection that carries frames on a stream of bytes. Each direction has a state of its own:
//
//   sending    | next      | when
//   open       | closing   | close() was called: a bye is queued after the other frames
//   closing    | finished  | the stream has accepted all frames
//   any        | failed    | the stream failed or was released
//
//   receiving  | next      | when
//   header     | payload   | a header has arrived, and the receiver accepts it
//   payload    | header    | the frame is complete
//   header     | bye       | a bye has arrived
//   any        | broken    | the peer violated the protocol, or a frame was damaged: this end may
//              |           | still send an error; further input is dropped
//   any        | ended     | nothing more will arrive; failure() says why
#pragma once

#include "common/transport/tcp/stream.hpp"
#include "common/transport/transport.hpp"

#include <array>
#include <memory>
#include <string>

namespace rpmem::transport {

class FrameConnection final : public LaneConnection {
public:
    // NAME identifies the lane and its ends in error texts.
    FrameConnection(std::unique_ptr<Stream> stream, std::string name)
        : stream_(std::move(stream)), name_(std::move(name)) {}
    ~FrameConnection() override;

    PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                    More more) override;
    [[nodiscard]] bool unsent() const override;
    [[nodiscard]] std::uint64_t released() const override { return posted_ - waiting_; }
    std::size_t poll(Receiver& receiver) override;
    void close() override;
    void release_in_child() override;
    void abandon() override;
    [[nodiscard]] bool ended() const override { return receiving_ >= Receiving::broken; }
    [[nodiscard]] const ConnectionFailure& failure() const override { return failure_; }
    [[nodiscard]] int fd() const override { return stream_ ? stream_->fd() : -1; }
    void receive_in(std::span<std::byte> buffer) override { buffer_ = buffer; }

private:
    enum class Sending { open, closing, finished, failed };
    enum class Receiving { header, payload, bye, broken, ended };
    enum class Source { none, network, kept };
    void enter(Sending next) { sending_ = next; }
    void enter(Receiving next) { receiving_ = next; }

    struct Frame {
        wire::FrameBytes header;
        std::span<const std::byte> piece;
    };
    [[nodiscard]] Frame& waiting(std::size_t index) {
        return frames_[(first_ + index) % ring_size];
    }
    // After a protocol violation an error can still be sent.
    [[nodiscard]] bool can_send() const {
        return sending_ == Sending::open && receiving_ != Receiving::ended;
    }
    PostResult send_alone(const wire::FrameHeader& header, std::span<const std::byte> piece);
    PostResult keep_rest(const wire::FrameHeader& header, std::span<const std::byte> piece,
                         ssize_t sent);
    void add(const wire::FrameHeader& header, std::span<const std::byte> piece);
    bool send_waiting(bool more);
    void consume_sent(std::size_t bytes);
    std::size_t receive(Receiver& receiver, Source& source);
    std::size_t receive_more(Receiver& receiver, std::size_t bytes, Source source);
    void cannot_receive(ssize_t got, bool asked_network);
    void poll_broken();
    [[nodiscard]] std::span<const std::byte> consume(std::span<const std::byte> bytes,
                                                     Receiver& receiver);
    bool begin(std::span<const std::byte, wire::frame_header_size> bytes, Receiver& receiver);
    std::size_t deliver(std::span<const std::byte> bytes, Receiver& receiver);
    bool advance(std::size_t size, Receiver& receiver);
    bool broke(std::string_view what);
    bool damaged(std::string_view what);
    void fail_by(Fault fault, int code, std::string_view what);
    void send_failed(int code);
    void drop();

    // Maximum number of frames that one call sends, or that wait for the network.
    static constexpr std::size_t max_waiting = 64;
    static constexpr std::size_t ring_size = max_waiting + 1; // one for a bye
    // Maximum number of bytes kept until more arrive: a part of a header or of a word of the pool.
    static constexpr std::size_t max_kept = wire::frame_header_size;

    std::unique_ptr<Stream> stream_;
    std::string name_;
    ConnectionFailure failure_;
    Sending sending_ = Sending::open;
    Receiving receiving_ = Receiving::header;
    int send_code_ = 0; // why sending failed; reported after the received frames

    std::array<Frame, ring_size> frames_; // a ring
    std::size_t first_ = 0;
    std::size_t waiting_ = 0;
    std::size_t sent_of_first_ = 0; // bytes sent of the first frame in the ring
    std::uint64_t posted_ = 0;

    std::span<std::byte> buffer_;
    std::array<std::byte, max_kept> kept_;
    std::size_t kept_size_ = 0;
    wire::FrameHeader header_; // header of the frame that is arriving
    // Where the rest of its payload is stored. If it is empty, the receiver gets chunks.
    std::span<std::byte> place_;
    std::size_t position_ = 0; // bytes of the payload that have arrived
    std::string why_;          // why the receiver rejects a frame
};

} // namespace rpmem::transport
