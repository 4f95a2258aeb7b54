#include "lanes/general_purpose.hpp"

#include "lanes/inline_transfer.hpp"

namespace rpmem::general_purpose {

// The target makes each range durable when its message comes; its answer is waited for in drain.
int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    if (!relaxed)
        return send_inline(lane, offset, length);
    if (const int code = lane.write(offset, length))
        return code;
    return lane.request(wire::PersistMode::persist_written, offset, length);
}

int drain(Lane& lane) { return lane.wait_for_answers(); }

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    if (const int code = flush(lane, offset, length, relaxed))
        return code;
    return drain(lane);
}

int deep_persist(Lane& lane, std::size_t offset, std::size_t length) {
    // Strict as persist: the data goes inline, and the deep flush follows.
    if (const int code = send_inline(lane, offset, length))
        return code;
    if (const int code = lane.request(wire::PersistMode::deep_persist, offset, length))
        return code;
    return lane.wait_for_answers();
}

} // namespace rpmem::general_purpose
