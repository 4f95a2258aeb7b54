// SPDX-License-Identifier: BSD-3-Clause
// A connection over a libfabric endpoint. Each message carries one frame. A peer of protocol 0.1
// receives the messages of that protocol instead, see common/wire/lane_encoding.hpp.
//
//   phase      | next      | when
//   handshake  | open      | the handshake is complete, or the connection has none
//   handshake, | lost      | only on a target: the event queue reported the end of the connection;
//   open       |           | poll() still delivers what has arrived
//   any        | ended     | the connection failed for good, or was abandoned
//
//   sending    | next      | when
//   open       | closing   | close() was called; it posts a bye if the queue has room, and the
//              |           | protocol has one
//   any        | failed    | an operation failed, or poll() found the phase lost
//   any        | not_ours  | this process is a child made by fork(2), and the endpoint belongs to
//              |           | its parent
#pragma once

#include "common/transport/crypto.hpp"
#include "common/transport/fabric/endpoint.hpp"
#include "common/transport/fabric/fabric_group.hpp"
#include "common/transport/fabric/lane_handshake.hpp"
#include "common/transport/transport.hpp"
#include "common/wire/lane_encoding.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::transport {

// The libfabric objects that one end of a connection uses. They must outlive it.
struct FabricEnd {
    const fabric::Domain& domain;
    const fabric::Provider& provider;
    fi_info* info; // of the provider, or of the connection request
    const fabric::EventQueue& events;
    FabricGroup& group;
    bool accepts = false; // this end is a target, which accepts the connection
    wire::LaneEncoding encoding{};
};

// The number and the size of the buffers. The credits of the peer never exceed RECEIVES, so each
// message finds a buffer.
struct FabricBuffers {
    std::size_t receives;
    std::size_t receive_size;
    std::size_t sends;
    std::size_t send_size;         // a payload outside the pool and lent memory must fit
    std::size_t queue;             // maximum of operations in progress
    std::size_t bounce_buffer = 0; // bytes, see Abilities
};

struct FabricPool {
    std::span<std::byte> memory{}; // registered at this end
    void* descriptor = nullptr;
    std::optional<fabric::RemoteAddress> remote{}; // offset 0 in the peer's registered memory
};

[[nodiscard]] inline bool is_within(std::span<const std::byte> bytes,
                                    std::span<const std::byte> memory) {
    return !bytes.empty() && !memory.empty() && bytes.data() >= memory.data() &&
           bytes.data() + bytes.size() <= memory.data() + memory.size();
}

enum class FabricPhase { handshake, open, lost, ended };

// The phase of a connection. Other threads may read and advance it, and it may outlive the
// connection.
class FabricState {
public:
    [[nodiscard]] FabricPhase phase() const { return phase_.load(std::memory_order_acquire); }
    // Does nothing if the connection is in NEXT or a later phase already.
    void advance(FabricPhase next) {
        FabricPhase now = phase_.load(std::memory_order_relaxed);
        while (now < next && !phase_.compare_exchange_weak(now, next, std::memory_order_acq_rel)) {
        }
    }

private:
    std::atomic<FabricPhase> phase_ = FabricPhase::handshake;
};

class FabricConnection final : public LaneConnection {
public:
    // NAME identifies the lane and its ends in error texts. HANDSHAKE runs before the first frame;
    // null if there is none.
    static Result<std::unique_ptr<FabricConnection>> open(const FabricEnd& end,
                                                          const FabricBuffers& buffers,
                                                          const FabricPool& pool, std::string name,
                                                          std::unique_ptr<LaneHandshake> handshake);
    ~FabricConnection() override;

    [[nodiscard]] fabric::Endpoint& endpoint() { return endpoint_; }
    [[nodiscard]] const std::shared_ptr<FabricState>& state() const { return state_; }
    // Sends a message of the handshake, which is not a frame.
    [[nodiscard]] Result<> say(ByteView message);
    // Ends the handshake of an initiator, and posts the receive buffers for frames.
    [[nodiscard]] Result<> prepare_for_frames(const FabricBuffers& buffers);

    // The group calls these four.
    [[nodiscard]] Result<> start();
    void ended_well(FabricOperation& operation, std::size_t size);
    void ended_badly(FabricOperation* operation, int code);
    [[nodiscard]] bool has_news() const { return has_news_; }

    PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                    More more) override;
    // Whether the bye is still in the send queue. libfabric owns all frames before it.
    [[nodiscard]] bool unsent() const override {
        return sending_ == Sending::closing && open_sends_ > 0;
    }
    [[nodiscard]] std::uint64_t released() const override;
    std::size_t poll(Receiver& receiver) override;
    void close() override;
    void release_in_child() override { enter(Sending::not_ours); }
    void abandon() override;
    [[nodiscard]] bool ended() const override { return failure_.fault != Fault::none; }
    [[nodiscard]] const ConnectionFailure& failure() const override { return failure_; }
    [[nodiscard]] int fd() const override;
    void receive_in(std::span<std::byte>) override {}

    [[nodiscard]] Abilities abilities() const override {
        return {.direct = pool_.remote.has_value(),
                .max_bytes = provider_.max_transfer,
                .bounce_buffer =
                    sends_.behind.size() > unwanted ? sends_.behind : std::span<std::byte>(),
                .max_copy = sends_.size - wire::frame_header_size};
    }
    bool lend(std::span<std::byte> memory) override;
    [[nodiscard]] bool reaches(std::span<const std::byte> place) const override;
    PostResult write(std::uint64_t offset, std::span<const std::byte> piece) override;
    PostResult read(std::uint64_t offset, std::span<std::byte> place) override;
    [[nodiscard]] std::size_t open_reads() const override { return reads_; }

private:
    enum class Sending { open, closing, failed, not_ours };
    void enter(Sending next) {
        if (sending_ != Sending::not_ours)
            sending_ = next;
    }

    struct Completed {
        FabricOperation* operation;
        std::size_t size;
    };
    // Registered memory, divided into message buffers.
    struct MessageBuffers {
        std::unique_ptr<std::byte[]> memory;
        fabric::MemoryRegion region;
        std::vector<FabricOperation> operations;
        std::size_t size = 0; // bytes of a message buffer
        std::span<std::byte> behind;
    };
    // Bytes of a read whose data are discarded, see LaneConnection::read().
    static constexpr std::size_t unwanted = 8;

    FabricConnection(const FabricEnd& end, const FabricPool& pool, std::string name,
                     std::unique_ptr<LaneHandshake> handshake)
        : domain_(end.domain), provider_(end.provider), group_(end.group), accepts_(end.accepts),
          encoding_(end.encoding), name_(std::move(name)), pool_(pool),
          handshake_(std::move(handshake)) {}
    // BYTES_BEHIND is the size of a span after the message buffers.
    Result<MessageBuffers> make_places(std::size_t count, std::size_t size,
                                       FabricOperation::Kind kind, std::size_t bytes_behind = 0);
    Result<> post_all();
    int post_receive(FabricOperation& operation);
    // Posts OPERATION, if it is not null, and the receives that could not be posted before.
    void receive_again(FabricOperation* operation) {
        if (operation)
            unposted_.push_back(operation);
        while (!unposted_.empty() && endpoint_ &&
               posted(post_receive(*unposted_.back())) != PostResult::full)
            unposted_.pop_back();
    }
    [[nodiscard]] bool can_send() const;
    [[nodiscard]] bool is_full() const { return open_sends_ + writes_ + reads_ >= queue_; }
    PostResult send_inside(std::span<const std::byte> header, std::span<const std::byte> piece);
    PostResult send_from_slot(std::span<const std::byte> header, std::span<const std::byte> piece,
                              bool is_last);
    PostResult posted(int status);
    void fail_sending(int code);
    std::size_t take(const Completed& arrived, Receiver& receiver);
    void receive_handshake(ByteView message);
    void take_frame(ByteView message, Receiver& receiver);
    void end_by(Fault fault, int code, std::string_view what);

    const fabric::Domain& domain_;
    const fabric::Provider& provider_;
    FabricGroup& group_;
    bool accepts_;
    wire::LaneEncoding encoding_;
    std::string name_;
    FabricPool pool_;
    std::unique_ptr<LaneHandshake> handshake_; // null after the handshake
    std::shared_ptr<FabricState> state_ = std::make_shared<FabricState>();
    ConnectionFailure failure_;
    Sending sending_ = Sending::open;
    int send_code_ = 0; // why sending failed; reported after the received frames

    MessageBuffers receives_;
    MessageBuffers first_receives_; // buffers of the handshake
    MessageBuffers sends_;          // a ring
    std::size_t first_send_ = 0;
    std::size_t open_sends_ = 0;
    std::size_t quiet_sends_ = 0;        // number of sends since the last one with a completion
    std::vector<std::uint64_t> numbers_; // numbers of the frames in sends_
    std::vector<Completed> arrived_;     // a ring
    std::size_t first_arrived_ = 0;
    // Receives that could not be posted. The provider sockets has no room for one while its
    // completion queue is full.
    std::vector<FabricOperation*> unposted_;
    std::size_t arrived_count_ = 0;
    FabricOperation write_{.connection = this, .kind = FabricOperation::Kind::write};
    FabricOperation read_{.connection = this, .kind = FabricOperation::Kind::read};
    std::span<std::byte> lent_;
    fabric::MemoryRegion lent_region_;
    std::size_t queue_ = 0; // maximum of operations in progress
    std::size_t writes_ = 0;
    std::size_t reads_ = 0;
    std::size_t direct_ended_ = 0; // direct operations completed since the last poll()
    std::uint64_t posted_ = 0;     // number of frames
    bool has_news_ = false;
    fabric::Endpoint endpoint_; // destroyed before the members that it uses
};

} // namespace rpmem::transport
