#include "lanes/appliance.hpp"

#include "lanes/inline_transfer.hpp"

namespace rpmem::appliance {

int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    return relaxed || !lane.goes_inline(length, false) ? lane.write(offset, length)
                                                       : flush_inline(lane, offset, length);
}

int drain(Lane& lane) {
    if (lane.has_unconfirmed_writes())
        if (const int code = lane.read_behind_writes())
            return code;
    return lane.wait_for_answers();
}

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    const int code = relaxed || !lane.goes_inline(length, false)
                         ? lane.write(offset, length)
                         : send_inline(lane, offset, length, Answer::wanted);
    return code != 0 ? code : drain(lane);
}

int deep_persist(Lane& lane, std::size_t offset, std::size_t length) {
    if (const int code = persist(lane, offset, length, false))
        return code;
    if (const int code =
            lane.request(wire::PersistMode::deep_persist, offset, length, Answer::wanted))
        return code;
    return lane.wait_for_answers();
}

} // namespace rpmem::appliance
