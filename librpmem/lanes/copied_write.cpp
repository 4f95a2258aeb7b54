// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/frame_lane.hpp"

#include <algorithm>

namespace rpmem::initiator {

using transport::More;
using transport::PostResult;
using wire::FrameHeader;
using wire::FrameType;

namespace {

constexpr std::size_t word = 8; // the target stores an aligned word as a whole

} // namespace

int FrameLane::persist_copies(std::span<const CopiedRange> ranges) {
    int code = 0;
    for (std::size_t i = 0; code == 0 && i < ranges.size(); ++i)
        code = flush_copy(ranges[i]);
    if (code == 0)
        code = drain();
    if (code != 0)
        abandon_copies();
    return code;
}

// While the target makes copies durable, the caller makes the next ones. So the target always has
// some to receive.
int FrameLane::send_copies(std::span<const CopiedRange> ranges, std::uint64_t durable) {
    int code = 0;
    for (std::size_t i = 0; code == 0 && i < ranges.size(); ++i)
        code = flush_copy(ranges[i]);
    if (code == 0)
        code = ask_for_ack();
    while (code == 0 && responses_.acknowledged() < durable)
        code = make_progress();
    if (code != 0)
        abandon_copies();
    return code;
}

void FrameLane::abandon_copies() { connection_->abandon(); }

// A piece is at most as large as a piece of a read. Copies are not in the registered memory of the
// pool. So a FabricConnection to which they are not lent copies each piece into a send buffer,
// which is small.
int FrameLane::flush_copy(CopiedRange range) {
    auto& [copy, offset] = range;
    std::size_t max_piece = max_read_piece(responses_.max_payload());
    if (!are_copies_lent_)
        max_piece = std::min(max_piece, connection_->abilities().max_copy / word * word);
    while (!copy.empty()) {
        const auto piece = copy.first(std::min(copy.size(), max_piece));
        const auto length = static_cast<std::uint32_t>(piece.size());
        while (!responses_.has_room(FrameType::write, length))
            if (const int code = wait_for_room())
                return code;
        const FrameHeader header = responses_.add(FrameType::write, 0, offset, length);
        ack_is_asked_ = answers_each_;
        last_data_ = header.number;
        while (connection_->post(header, piece, More::none) != PostResult::yes)
            if (const int code = make_progress())
                return code;
        offset += piece.size();
        copy = copy.subspan(piece.size());
    }
    return 0;
}

} // namespace rpmem::initiator
