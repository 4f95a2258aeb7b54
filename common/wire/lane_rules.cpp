// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/lane_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rpmem::wire {
namespace {

constexpr std::uint32_t last_errno = 4095;

// Bounds the memory for unacknowledged frames, whatever the credits allow. 1024 of the smallest
// frames use 2.25 MiB of credits.
constexpr std::uint32_t max_frames = 1024;

bool is_within(const FrameHeader& header, std::uint64_t size) {
    return header.offset <= size && header.length <= size - header.offset;
}

LaneTerms bounded(LaneTerms terms) {
    terms.credits.frames = std::min(terms.credits.frames, max_frames);
    terms.credits.reads = std::min<std::uint32_t>(terms.credits.reads, max_reads);
    return terms;
}

unsigned number_of(FrameType type) { return static_cast<unsigned>(type); }

} // namespace

bool RequestRules::check(const FrameHeader& header, std::string& why) {
    if (!check_kind(header, why))
        return false;
    if (header.number != begun_ + 1) {
        why = fmt::format("sent frame number {}, expected {}", header.number, begun_ + 1);
        return false;
    }
    if (!is_within(header, terms_.pool_size)) {
        why = fmt::format("named a range of {} bytes at offset {}, which is not within the pool of "
                          "{} bytes",
                          header.length, header.offset, terms_.pool_size);
        return false;
    }
    if (!check_credits(header, why))
        return false;
    begun_ = header.number;
    return true;
}

bool RequestRules::check_kind(const FrameHeader& header, std::string& why) const {
    const bool writes = header.type == FrameType::write || header.type == FrameType::persist;
    const bool is_deep = (header.flags & frame_flag::deep) != 0;
    std::uint8_t known = frame_flag::answer_wanted;
    if (header.type == FrameType::persist)
        known |= frame_flag::deep;
    if (!writes && header.type != FrameType::read)
        return check_digest(header, why);
    if ((header.flags & ~known) != 0)
        why = fmt::format("sent flags {:#x} in a frame of type {}, which may have {:#x}",
                          header.flags, number_of(header.type), known);
    else if (header.type != FrameType::persist &&
             (header.length == 0 || header.length > terms_.credits.payload))
        why = fmt::format("sent a frame of type {} for {} bytes, where 1 to {} are allowed",
                          number_of(header.type), header.length, terms_.credits.payload);
    else if (header.type == FrameType::persist && header.length > 0 && !is_deep && !terms_.direct)
        why = fmt::format("sent a persist of {} bytes on a lane without direct access, where it "
                          "cannot have written them",
                          header.length);
    else if (writes && terms_.read_only && (header.length > 0 || is_deep))
        why = fmt::format("sent a frame of type {} that writes {} bytes, but this session is "
                          "read-only",
                          number_of(header.type), header.length);
    return why.empty();
}

// Checks a frame of a type that neither writes nor reads.
bool RequestRules::check_digest(const FrameHeader& header, std::string& why) const {
    if (header.type != FrameType::digest || !terms_.digests)
        why = fmt::format("sent a frame of type {}, which an initiator does not send",
                          number_of(header.type));
    else if ((header.flags & ~frame_flag::answer_wanted) != 0)
        why = fmt::format("sent flags {:#x} in a frame of type {}, which may have {:#x}",
                          header.flags, number_of(header.type), frame_flag::answer_wanted);
    else if (header.length == 0 || header.length > max_digest_range)
        why = fmt::format("sent a frame of type {} for {} bytes, where 1 to {} are allowed",
                          number_of(header.type), header.length, max_digest_range);
    else if (header.offset % digest_block != 0)
        why = fmt::format("requested digests from offset {}, which is not a multiple of {}",
                          header.offset, digest_block);
    return why.empty();
}

bool RequestRules::check_credits(const FrameHeader& header, std::string& why) {
    if (!is_acknowledged(header.type)) {
        const std::uint64_t answer = answer_of(header);
        if (reads_ == terms_.credits.reads || read_bytes_ + answer > terms_.credits.bytes) {
            why = fmt::format("sent a read of {} bytes while {} reads of {} bytes were in "
                              "progress; its credits are {} reads and {} bytes",
                              answer, reads_, read_bytes_, terms_.credits.reads,
                              terms_.credits.bytes);
            return false;
        }
        ++reads_;
        read_bytes_ += answer;
        return true;
    }
    const std::uint64_t weight = weight_of(header);
    if (frames_ == terms_.credits.frames || weight_ + weight > terms_.credits.bytes) {
        why = fmt::format("sent a frame of weight {} while {} frames of weight {} were "
                          "unacknowledged; its credits are {} frames and {} bytes",
                          weight, frames_, weight_, terms_.credits.frames, terms_.credits.bytes);
        return false;
    }
    ++frames_;
    weight_ += weight;
    return true;
}

void RequestRules::complete(const FrameHeader& header) {
    complete_ = header.number;
    if (!is_acknowledged(header.type))
        return;
    ++complete_frames_;
    complete_weight_ += weight_of(header);
    wanted_ = wanted_ || (header.flags & frame_flag::answer_wanted) != 0;
}

void RequestRules::acknowledged() {
    frames_ -= complete_frames_;
    weight_ -= complete_weight_;
    complete_frames_ = 0;
    complete_weight_ = 0;
    wanted_ = false;
}

void RequestRules::answered(std::uint64_t length) {
    --reads_;
    read_bytes_ -= length;
}

ResponseRules::ResponseRules(const LaneTerms& terms)
    : terms_(bounded(terms)), frames_(terms_.credits.frames) {}

bool ResponseRules::check_others(const FrameHeader& header, std::string& why) const {
    if (header.flags != 0) {
        why = fmt::format("sent flags {:#x}, expected none", header.flags);
        return false;
    }
    switch (header.type) {
    case FrameType::ack:
        why = fmt::format("acknowledged frame number {}; number {} was acknowledged before, and "
                          "number {} is the last one sent",
                          header.number, acknowledged_, last_);
        return false;
    case FrameType::data:
        return check_data(header, why);
    case FrameType::error: {
        const std::uint64_t code = header.offset & 0xffffffff;
        if (header.length <= max_error_text && code > 0 && code <= last_errno)
            return true;
        why = fmt::format("sent an error with code {} and {} bytes of text; limits: {} and {}",
                          code, header.length, last_errno, max_error_text);
        return false;
    }
    default:
        why = fmt::format("sent a frame of type {}, which a target does not send here",
                          number_of(header.type));
        return false;
    }
}

bool ResponseRules::check_data(const FrameHeader& header, std::string& why) const {
    const FrameHeader& oldest = open_reads_[reads_ended_ % max_reads];
    if (reads_ > 0 && header.number == oldest.number && header.offset == oldest.offset &&
        header.length == answer_of(oldest))
        return true;
    const std::string expected = reads_ == 0
                                     ? "no data, because no read is in progress"
                                     : fmt::format("{} bytes of offset {} for frame number {}",
                                                   answer_of(oldest), oldest.offset, oldest.number);
    why = fmt::format("sent {} bytes of offset {} for frame number {}, expected {}", header.length,
                      header.offset, header.number, expected);
    return false;
}

void ResponseRules::read_complete() {
    read_bytes_ -= answer_of(open_reads_[reads_ended_ % max_reads]);
    --reads_;
    ++reads_ended_;
}

} // namespace rpmem::wire
