#include "lanes/appliance.hpp"

#include "lanes/inline_transfer.hpp"

namespace rpmem::appliance {

int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    return relaxed ? lane.write(offset, length) : persist_inline(lane, offset, length);
}

int drain(Lane& lane) {
    return lane.has_unconfirmed_writes ? lane.read_behind_writes() : lane.wait_for_all();
}

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    if (const int code = flush(lane, offset, length, relaxed))
        return code;
    return drain(lane);
}

int deep_persist(Lane& lane, std::size_t offset, std::size_t length) {
    if (const int code = persist(lane, offset, length, false))
        return code;
    return lane.request(wire::PersistMode::deep_persist, offset, length);
}

} // namespace rpmem::appliance
