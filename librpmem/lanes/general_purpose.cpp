#include "lanes/general_purpose.hpp"

#include "lanes/inline_transfer.hpp"

namespace rpmem::general_purpose {
namespace {

int write_and_request(Lane& lane, wire::PersistMode mode, std::size_t offset, std::size_t length) {
    if (const int code = lane.write(offset, length))
        return code;
    return lane.request(mode, offset, length);
}

} // namespace

int persist(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    return relaxed ? write_and_request(lane, wire::PersistMode::persist_written, offset, length)
                   : persist_inline(lane, offset, length);
}

int deep_persist(Lane& lane, std::size_t offset, std::size_t length) {
    // Strict as persist: the data goes inline, and the deep flush follows.
    if (const int code = persist_inline(lane, offset, length))
        return code;
    return lane.request(wire::PersistMode::deep_persist, offset, length);
}

int flush(Lane& lane, std::size_t offset, std::size_t length, bool relaxed) {
    return persist(lane, offset, length, relaxed);
}

int drain(Lane& lane) { return lane.wait_for_all(); }

} // namespace rpmem::general_purpose
