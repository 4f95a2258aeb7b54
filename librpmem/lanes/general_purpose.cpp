#include "lanes/general_purpose.hpp"

#include "lanes/inline_transfer.hpp"

#include <algorithm>

namespace rpmem::general_purpose {
namespace {

// Large, because each costs a message, and may cost the target an msync.
constexpr std::size_t piece_size = std::size_t{1024} * 1024;

// The target makes ranges durable when their messages come, or when an answer is due.
RPMEM_HOT int send(Lane& lane, std::size_t offset, std::size_t length, bool relaxed, Answer last) {
    if (lane.goes_inline(length, relaxed))
        return send_inline(lane, offset, length, last);
    // In pieces: persistent memory is flushed while the next is on its way.
    while (length > 0) {
        const std::size_t size = std::min(length, piece_size);
        const Answer answer = size < length ? Answer::may_wait : last;
        if (const int code = lane.write_and_request(offset, size, answer))
            return code;
        offset += size;
        length -= size;
    }
    return 0;
}

} // namespace

// The answer is waited for in drain.
int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    return lane.goes_inline(length, relaxed)
               ? flush_inline(lane, offset, length)
               : send(lane, offset, length, relaxed, Answer::may_wait);
}

int drain(Lane& lane) { return lane.wait_for_answers(); }

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    if (const int code = send(lane, offset, length, relaxed, Answer::wanted))
        return code;
    return drain(lane);
}

int deep_persist(Lane& lane, std::size_t offset, std::size_t length) {
    if (const int code = send(lane, offset, length, false, Answer::may_wait))
        return code;
    if (const int code =
            lane.request(wire::PersistMode::deep_persist, offset, length, Answer::wanted))
        return code;
    return lane.wait_for_answers();
}

} // namespace rpmem::general_purpose
