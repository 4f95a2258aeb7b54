#include "lanes/appliance.hpp"

#include "lanes/inline_transfer.hpp"

namespace rpmem::appliance {
namespace {

int send(Lane& lane, std::size_t offset, std::size_t length, bool relaxed, Answer last) {
    return relaxed || !lane.goes_inline(length, false) ? lane.write(offset, length)
                                                       : send_inline(lane, offset, length, last);
}

} // namespace

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
    if (const int code = send(lane, offset, length, relaxed, Answer::wanted))
        return code;
    return drain(lane);
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
