// SPDX-License-Identifier: BSD-3-Clause
// A connection without a network. It records the posted headers, and poll() delivers the frames
// that the test provides. It reads no byte of a piece, so a range may be larger than the memory of
// the machine.
#pragma once

#include "common/transport/transport.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <new>
#include <vector>

namespace rpmem::test {

class StubConnection final : public transport::LaneConnection {
public:
    struct Frame {
        wire::FrameHeader header;
        std::vector<std::byte> payload{};
    };

    // The next poll() delivers FRAME.
    void deliver(Frame frame) { arriving_.push_back(std::move(frame)); }
    // From now on each poll() delivers an ack for all posted frames.
    void acknowledge_all() { acknowledges_ = true; }

    // While the network accepts nothing, posted frames stay unsent. With IS_FULL, post() accepts no
    // more of them.
    void stall(bool is_stalled, bool is_full = false) {
        is_stalled_ = is_stalled;
        is_full_ = is_full;
    }

    // From now on post() throws std::bad_alloc.
    void run_out_of_memory() { has_memory_ = false; }
    void limit_copies(std::size_t size) { max_copy_ = size; }

    [[nodiscard]] const std::vector<wire::FrameHeader>& posted() const { return posted_; }
    // Returns the pieces of posted(). Their bytes belong to the caller of post().
    [[nodiscard]] const std::vector<std::span<const std::byte>>& pieces() const { return pieces_; }

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More) override {
        if (!has_memory_)
            throw std::bad_alloc();
        if (is_full_)
            return transport::PostResult::full;
        posted_.push_back(header);
        pieces_.push_back(piece);
        return transport::PostResult::yes;
    }
    std::size_t poll(transport::Receiver& receiver) override {
        if (acknowledges_ && !posted_.empty() && posted_.back().number > acknowledged_) {
            acknowledged_ = posted_.back().number;
            deliver({{.type = wire::FrameType::ack, .number = acknowledged_}});
        }
        std::size_t bytes = std::exchange(direct_, 0);
        reads_ = 0;
        for (; !arriving_.empty(); arriving_.pop_front())
            bytes += hand_over(arriving_.front(), receiver);
        return bytes;
    }
    [[nodiscard]] transport::Abilities abilities() const override {
        return {.direct = true, .max_bytes = std::size_t{1} << 20, .max_copy = max_copy_};
    }
    transport::PostResult write(std::uint64_t, std::span<const std::byte>) override {
        ++direct_;
        return transport::PostResult::yes;
    }
    transport::PostResult read(std::uint64_t, std::span<std::byte>) override {
        ++direct_;
        ++reads_;
        return transport::PostResult::yes;
    }
    [[nodiscard]] std::size_t open_reads() const override { return reads_; }
    [[nodiscard]] bool unsent() const override { return is_stalled_; }
    [[nodiscard]] std::uint64_t released() const override { return posted_.size(); }
    void close() override {}
    void release_in_child() override {}
    bool lend(std::span<std::byte> memory) override {
        lent_ = memory;
        return !memory.empty();
    }
    [[nodiscard]] std::span<std::byte> lent() const { return lent_; }
    void abandon() override {
        if (!ended())
            failure_ = {transport::Fault::local, ECANCELED, "abandoned"};
    }
    [[nodiscard]] bool ended() const override { return failure_.fault != transport::Fault::none; }
    [[nodiscard]] const transport::ConnectionFailure& failure() const override { return failure_; }
    [[nodiscard]] int fd() const override { return -1; }
    void receive_in(std::span<std::byte>) override {}

private:
    std::size_t hand_over(const Frame& frame, transport::Receiver& receiver) {
        std::span<std::byte> place;
        std::string why;
        if (!receiver.begin(frame.header, place, why)) {
            failure_ = {transport::Fault::broke_protocol, EBADMSG, why};
            return 0;
        }
        if (!place.empty())
            std::ranges::copy(frame.payload, place.begin());
        else if (!frame.payload.empty())
            receiver.take(frame.header, 0, frame.payload);
        if (!receiver.end(frame.header, why))
            failure_ = {transport::Fault::broke_protocol, EBADMSG, why};
        return wire::frame_header_size + frame.payload.size();
    }

    std::vector<wire::FrameHeader> posted_;
    std::vector<std::span<const std::byte>> pieces_;
    bool is_stalled_ = false;
    bool is_full_ = false;
    bool has_memory_ = true;
    std::span<std::byte> lent_;
    std::size_t max_copy_ = std::numeric_limits<std::size_t>::max();
    std::deque<Frame> arriving_;
    transport::ConnectionFailure failure_;
    bool acknowledges_ = false;
    std::uint64_t acknowledged_ = 0;
    std::size_t direct_ = 0; // direct operations, which complete at the next poll()
    std::size_t reads_ = 0;
};

// A group whose wait() times out at once.
class StubGroup final : public transport::Group {
public:
    Result<> add(transport::LaneConnection&) override { return {}; }
    void remove(transport::LaneConnection&) override {}
    transport::WaitResult wait(std::chrono::milliseconds, int) override {
        return transport::WaitResult::timed_out;
    }
    [[nodiscard]] std::span<transport::LaneConnection* const> ready() const override { return {}; }
};

} // namespace rpmem::test
