// A range sent inside messages, which the target copies word by word. The answers are not waited
// for; LAST is that to the last message.
#pragma once

#include "lanes/lane.hpp"

#include <algorithm>

namespace rpmem {

// The target copies one piece while the next is on its way; but each is a call to the network's
// software, which does better with few large ones. What only just does not fit into one packet of
// the loopback device together with its headers goes in two halves, not in one and a scrap.
inline std::size_t piece_of(std::size_t length, std::size_t most) {
    constexpr std::size_t packet = std::size_t{64} * 1024;
    constexpr std::size_t headers = 256; // or less: TCP's, libfabric's and ours
    const bool just_too_long = length > packet - headers && length <= packet;
    return just_too_long ? std::min(packet / 2, most) : most;
}

// RDMA writes may be placed, and a network's packets cut, at any byte. Strict calls therefore send
// their data in messages, each of which ends at a word boundary of the target: what the target
// copies with stores of whole words is never torn.
inline int send_inline(Lane& lane, std::size_t offset, std::size_t length, Answer last) {
    constexpr std::size_t word_size = 8;
    const std::size_t whole = piece_of(length, lane.inline_size()) / word_size * word_size;
    while (length > 0) {
        const std::size_t size = std::min(length, whole - offset % word_size);
        const Answer answer = size < length ? Answer::may_wait : last;
        if (const int code = lane.request(wire::PersistMode::inline_data, offset, size, answer))
            return code;
        offset += size;
        length -= size;
    }
    return 0;
}

// Starts to send a range; the answer is waited for in drain.
inline int flush_inline(Lane& lane, std::size_t offset, std::size_t length) {
    return lane.gathers(length) ? lane.gather(offset, length)
                                : send_inline(lane, offset, length, Answer::may_wait);
}

} // namespace rpmem
