#include "common/transport/slots.hpp"

#include <algorithm>

namespace rpmem::transport {

template <std::size_t Most>
Slots::Slot Slots::Queue<Most>::take(std::size_t place) {
    const Slot taken = slots[place];
    std::copy(slots.begin() + place + 1, slots.begin() + size, slots.begin() + place);
    --size;
    return taken;
}

template <std::size_t Most>
std::size_t Slots::Queue<Most>::find(Id id) const {
    const auto end = slots.begin() + size;
    return static_cast<std::size_t>(std::ranges::find(slots.begin(), end, id, &Slot::id) -
                                    slots.begin());
}

// Not always the first: a later connection may have been known earlier.
template <std::size_t Most>
std::size_t Slots::Queue<Most>::longest_alive() const {
    const auto end = slots.begin() + size;
    return static_cast<std::size_t>(
        std::ranges::min_element(slots.begin(), end, {}, &Slot::arrived) - slots.begin());
}

std::optional<Slots::Id> Slots::arrived(Id id, Time now) {
    std::optional<Id> ended;
    if (silent_.full())
        ended = silent_.take(0).id;
    silent_.append({.id = id, .arrived = now, .since = now});
    return ended;
}

Slots::Admission Slots::recognised(Id id, Time now) {
    const std::size_t place = silent_.find(id);
    if (place == silent_.size)
        return {};
    Slot slot = silent_.take(place);
    Admission admission;
    if (known_.full()) {
        if (now - known_.slots.front().since < shortest_known)
            return {};
        admission.ended = known_.take(0).id;
    }
    slot.since = now;
    known_.append(slot);
    admission.admitted = true;
    return admission;
}

void Slots::left(Id id) {
    if (const std::size_t place = silent_.find(id); place < silent_.size)
        silent_.take(place);
    else if (const std::size_t other = known_.find(id); other < known_.size)
        known_.take(other);
}

std::optional<Slots::Expired> Slots::expired(Time now) {
    const auto over = [now](const auto& line, std::size_t place) {
        return place < line.size && now - line.slots[place].arrived >= longest_unproven;
    };
    if (const std::size_t place = silent_.longest_alive(); over(silent_, place))
        return Expired{.id = silent_.take(place).id, .known = false};
    if (const std::size_t place = known_.longest_alive(); over(known_, place))
        return Expired{.id = known_.take(place).id, .known = true};
    return std::nullopt;
}

std::optional<Slots::Time> Slots::deadline() const {
    std::optional<Time> first;
    const auto look = [&first](const auto& line) {
        if (const std::size_t place = line.longest_alive(); place < line.size) {
            const Time end = line.slots[place].arrived + longest_unproven;
            first = first ? std::min(*first, end) : end;
        }
    };
    look(silent_);
    look(known_);
    return first;
}

} // namespace rpmem::transport
