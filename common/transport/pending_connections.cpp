// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/pending_connections.hpp"

#include <algorithm>

namespace rpmem::transport {
namespace {

template <typename Queue>
auto taken(Queue& queue, typename Queue::iterator place) {
    const auto slot = *place;
    queue.erase(place);
    return slot;
}

} // namespace

PendingConnections::PendingConnections() {
    silent_.reserve(max_silent);
    known_.reserve(max_known);
}

std::optional<PendingConnections::Id> PendingConnections::arrived(Id id, Time now) {
    std::optional<Id> ended;
    if (silent_.size() == max_silent)
        ended = taken(silent_, silent_.begin()).id;
    silent_.push_back({.id = id, .arrived = now, .since = now});
    return ended;
}

PendingConnections::Admission PendingConnections::recognised(Id id, Time now) {
    const auto place = std::ranges::find(silent_, id, &Slot::id);
    if (place == silent_.end())
        return {};
    Slot slot = taken(silent_, place);
    Admission admission;
    if (known_.size() == max_known) {
        if (now - known_.front().since < shortest_known)
            return {};
        admission.ended = taken(known_, known_.begin()).id;
    }
    slot.since = now;
    known_.push_back(slot);
    admission.admitted = true;
    return admission;
}

void PendingConnections::left(Id id) {
    const auto is_it = [id](const Slot& slot) { return slot.id == id; };
    std::erase_if(silent_, is_it);
    std::erase_if(known_, is_it);
}

std::optional<PendingConnections::Expired> PendingConnections::expired(Time now) {
    for (Queue* const queue : {&silent_, &known_})
        // The oldest connection is not always the first, because known_ is in the order of
        // recognition.
        if (const auto place = std::ranges::min_element(*queue, {}, &Slot::arrived);
            place != queue->end() && now - place->arrived >= unproven_timeout)
            return Expired{.id = taken(*queue, place).id, .known = queue == &known_};
    return std::nullopt;
}

std::optional<PendingConnections::Time> PendingConnections::deadline() const {
    std::optional<Time> first;
    for (const Queue* const queue : {&silent_, &known_})
        for (const Slot& slot : *queue)
            first = std::min(first.value_or(Time::max()), slot.arrived + unproven_timeout);
    return first;
}

} // namespace rpmem::transport
