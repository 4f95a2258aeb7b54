// SPDX-License-Identifier: BSD-3-Clause
// The rules of a lane: which frames each end may send, and how many bytes and frames its credits
// allow. Every header from a peer is checked here before it has any effect. No input or output.
#pragma once

#include "common/wire/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rpmem::wire {

struct LaneTerms {
    LaneCredits credits;
    std::uint64_t pool_size = 0;
    bool read_only = false; // writes are refused
    bool direct = false;    // the initiator may write ranges by RDMA instead of frames
    bool appliance = false; // such a range is durable once it is in the target's memory
    bool digests = false;   // digest frames are allowed, see capability_compare
};

// Maximum number of reads in progress on a lane, whatever the credits allow. In this file a digest
// frame is a read whose bytes are the digests.
inline constexpr std::size_t max_reads = 16;

// The target's side: checks the requests of an initiator.
class RequestRules {
public:
    explicit RequestRules(const LaneTerms& terms) : terms_(terms) {}

    // Checks the next header. Returns false and sets WHY if it violates the rules.
    [[nodiscard]] bool check(const FrameHeader& header, std::string& why);
    // The frame with this header has arrived completely.
    void complete(const FrameHeader& header);
    // An ack for all complete frames was sent.
    void acknowledged();
    // The data of the oldest read were sent. LENGTH is answer_of() that read.
    void answered(std::uint64_t length);

    [[nodiscard]] std::uint64_t last_complete() const { return complete_; }
    // Whether to send an ack now: the initiator asked for one, or has used half of its credits.
    [[nodiscard]] bool ack_is_due() const {
        return wanted_ || complete_weight_ >= terms_.credits.bytes / 2 ||
               complete_frames_ * 2 >= terms_.credits.frames;
    }
    [[nodiscard]] bool owes_ack() const { return complete_frames_ > 0; }

private:
    [[nodiscard]] bool check_kind(const FrameHeader& header, std::string& why) const;
    [[nodiscard]] bool check_digest(const FrameHeader& header, std::string& why) const;
    [[nodiscard]] bool check_credits(const FrameHeader& header, std::string& why);

    LaneTerms terms_;
    std::uint64_t begun_ = 0;    // number of the last frame whose header has arrived
    std::uint64_t complete_ = 0; // number of the last frame that has arrived completely
    std::uint64_t weight_ = 0;   // weight of the unacknowledged frames
    std::uint64_t complete_weight_ = 0;
    std::uint32_t frames_ = 0;
    std::uint32_t complete_frames_ = 0;
    std::uint32_t reads_ = 0; // reads in progress
    std::uint64_t read_bytes_ = 0;
    bool wanted_ = false;
};

// The initiator's side: numbers its frames and checks the responses of the target.
class ResponseRules {
public:
    explicit ResponseRules(const LaneTerms& terms);

    // Whether the credits allow such a frame now. A write of at most max_payload() bytes always has
    // room if nothing is unacknowledged.
    [[nodiscard]] bool has_room(FrameType type, std::uint32_t length) const;
    // Returns the header of the next frame, with its number. The caller sends it at once.
    FrameHeader add(FrameType type, std::uint8_t flags, std::uint64_t offset, std::uint32_t length);
    // Checks a header from the target: an ack, an error or data. Returns false and sets WHY if it
    // violates the rules. An ack takes effect here.
    [[nodiscard]] bool check(const FrameHeader& header, std::string& why);
    // The data of the oldest read have arrived.
    void read_complete();

    [[nodiscard]] std::uint64_t last() const { return last_; } // number of the last frame sent
    // Number of the last frame sent that needs an ack.
    [[nodiscard]] std::uint64_t last_write() const { return last_write_; }
    [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
    [[nodiscard]] std::uint32_t reads() const { return reads_; }
    // Number of reads whose data have arrived.
    [[nodiscard]] std::uint64_t reads_ended() const { return reads_ended_; }
    [[nodiscard]] std::uint32_t max_payload() const { return terms_.credits.payload; }
    [[nodiscard]] bool allows_digests() const { return terms_.digests; }
    // Calls VISIT(offset, length) for each unacknowledged frame with a range, the oldest first.
    void each_unacknowledged(auto visit) const {
        for (std::size_t index = 0; index < frame_count_; ++index) {
            const Unacknowledged& frame = frames_[place_of_frame(index)];
            if (frame.length > 0)
                visit(frame.offset, frame.length);
        }
    }

private:
    [[nodiscard]] bool apply_ack(const FrameHeader& header);
    [[nodiscard]] bool check_others(const FrameHeader& header, std::string& why) const;
    [[nodiscard]] bool check_data(const FrameHeader& header, std::string& why) const;
    struct Unacknowledged {
        std::uint64_t number;
        std::uint64_t weight;
        std::uint64_t offset;
        std::uint64_t length;
    };

    // Returns the place of frame INDEX in the ring; 0 is the oldest.
    [[nodiscard]] std::size_t place_of_frame(std::size_t index) const {
        const std::size_t place = first_frame_ + index;
        return place < frames_.size() ? place : place - frames_.size();
    }

    LaneTerms terms_;
    std::uint64_t last_ = 0;
    std::uint64_t last_write_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::vector<Unacknowledged> frames_; // a ring
    std::size_t first_frame_ = 0;
    std::uint32_t frame_count_ = 0;
    std::uint64_t weight_ = 0;
    std::array<FrameHeader, max_reads> open_reads_{};
    std::uint32_t reads_ = 0;
    std::uint64_t reads_ended_ = 0;
    std::uint64_t read_bytes_ = 0;
};

// These are on the path of every persist.

inline bool ResponseRules::has_room(FrameType type, std::uint32_t length) const {
    if (!is_acknowledged(type))
        return reads_ < terms_.credits.reads &&
               read_bytes_ + answer_of({.type = type, .length = length}) <= terms_.credits.bytes;
    return frame_count_ < terms_.credits.frames &&
           weight_ + weight_of({.type = type, .length = length}) <= terms_.credits.bytes;
}

inline FrameHeader ResponseRules::add(FrameType type, std::uint8_t flags, std::uint64_t offset,
                                      std::uint32_t length) {
    const FrameHeader header{
        .type = type, .flags = flags, .length = length, .offset = offset, .number = last_ + 1};
    last_ = header.number;
    if (!is_acknowledged(type)) {
        open_reads_[(reads_ended_ + reads_) % max_reads] = header;
        ++reads_;
        read_bytes_ += answer_of(header);
        return header;
    }
    last_write_ = last_;
    const Unacknowledged frame{last_, weight_of(header), offset, length};
    frames_[place_of_frame(frame_count_)] = frame;
    ++frame_count_;
    weight_ += frame.weight;
    return header;
}

inline bool ResponseRules::check(const FrameHeader& header, std::string& why) {
    if (header.type == FrameType::ack && apply_ack(header)) [[likely]]
        return true;
    return check_others(header, why);
}

// Returns false if HEADER violates the rules.
inline bool ResponseRules::apply_ack(const FrameHeader& header) {
    if ((header.flags | header.length | header.offset) != 0 || header.number <= acknowledged_ ||
        header.number > last_)
        return false;
    acknowledged_ = header.number;
    if (acknowledged_ >= last_write_) [[likely]] { // all frames are acknowledged
        frame_count_ = 0;
        weight_ = 0;
    }
    while (frame_count_ > 0 && frames_[first_frame_].number <= acknowledged_) {
        weight_ -= frames_[first_frame_].weight;
        first_frame_ = place_of_frame(1);
        --frame_count_;
    }
    return true;
}

} // namespace rpmem::wire
