// SPDX-License-Identifier: BSD-3-Clause
// What the ends of a lane may send each other, and how much of it: pure bookkeeping, without input
// or output. Every header of a peer comes here before anything is done about it.
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
    bool read_only = false; // nothing may be written
    bool direct = false;    // ranges may be written by other means than frames
    bool appliance = false; // such are durable once they have reached the target's memory
};

// Reads of a lane that may be without data, whatever the credits say.
inline constexpr std::size_t max_reads = 16;

// A target's view of what an initiator sends.
class RequestRules {
public:
    explicit RequestRules(const LaneTerms& terms) : terms_(terms) {}

    // The next header. False: it breaks the rules, and WHY.
    [[nodiscard]] bool check(const FrameHeader& header, std::string& why);
    // All of that frame has come.
    void complete(const FrameHeader& header);
    // An ack for all that is complete is on its way.
    void acknowledged();
    // The data of the oldest read are on their way.
    void answered(std::uint64_t length);

    [[nodiscard]] std::uint64_t last_complete() const { return complete_; }
    // An ack is wanted, or the initiator would soon have to wait for one.
    [[nodiscard]] bool ack_is_due() const {
        return wanted_ || complete_weight_ >= terms_.credits.bytes / 2 ||
               complete_frames_ * 2 >= terms_.credits.frames;
    }
    [[nodiscard]] bool owes_ack() const { return complete_frames_ > 0; }

private:
    [[nodiscard]] bool check_kind(const FrameHeader& header, std::string& why) const;
    [[nodiscard]] bool check_credits(const FrameHeader& header, std::string& why);

    LaneTerms terms_;
    std::uint64_t begun_ = 0;    // number of the last frame whose header has come
    std::uint64_t complete_ = 0; // of the last one that has come as a whole
    std::uint64_t weight_ = 0;   // of the frames without an ack
    std::uint64_t complete_weight_ = 0;
    std::uint32_t frames_ = 0;
    std::uint32_t complete_frames_ = 0;
    std::uint32_t reads_ = 0; // without data
    std::uint64_t read_bytes_ = 0;
    bool wanted_ = false;
};

// An initiator's view of what it has sent, and of what comes back.
class ResponseRules {
public:
    explicit ResponseRules(const LaneTerms& terms);

    // Whether the credits have room for such a frame now; if nothing is under way, they do.
    [[nodiscard]] bool has_room(FrameType type, std::uint32_t length) const;
    // The header of a frame that is sent now, numbered.
    FrameHeader add(FrameType type, std::uint8_t flags, std::uint64_t offset, std::uint32_t length);
    // A header of the target: an ack, an error or data. False: it breaks the rules, and WHY. An ack
    // is taken in.
    [[nodiscard]] bool check(const FrameHeader& header, std::string& why);
    // The data of the oldest read have come.
    void read_complete();

    [[nodiscard]] std::uint64_t last() const { return last_; } // number of the last frame sent
    [[nodiscard]] std::uint64_t last_write() const { return last_write_; } // that wants an ack
    [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
    [[nodiscard]] std::uint32_t reads() const { return reads_; }
    // How the reads without data are counted: the oldest is number 0 of the first.
    [[nodiscard]] std::uint64_t reads_ended() const { return reads_ended_; }
    [[nodiscard]] std::uint32_t max_payload() const { return terms_.credits.payload; }
    // VISIT(offset, length) for each frame with a range that has no ack yet, the oldest first.
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

    // In the ring, so many behind the first.
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

// Every persist passes through these.

inline bool ResponseRules::has_room(FrameType type, std::uint32_t length) const {
    if (type == FrameType::read)
        return reads_ < terms_.credits.reads && read_bytes_ + length <= terms_.credits.bytes;
    return frame_count_ < terms_.credits.frames &&
           weight_ + weight_of({.type = type, .length = length}) <= terms_.credits.bytes;
}

inline FrameHeader ResponseRules::add(FrameType type, std::uint8_t flags, std::uint64_t offset,
                                      std::uint32_t length) {
    const FrameHeader header{
        .type = type, .flags = flags, .length = length, .offset = offset, .number = last_ + 1};
    last_ = header.number;
    if (type == FrameType::read) {
        open_reads_[(reads_ended_ + reads_) % max_reads] = header;
        ++reads_;
        read_bytes_ += length;
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

// False: it breaks the rules.
inline bool ResponseRules::apply_ack(const FrameHeader& header) {
    if ((header.flags | header.length | header.offset) != 0 || header.number <= acknowledged_ ||
        header.number > last_)
        return false;
    acknowledged_ = header.number;
    if (acknowledged_ >= last_write_) [[likely]] { // nothing is without an ack
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
