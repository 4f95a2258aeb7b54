#include "lanes/gathered_ranges.hpp"

#include <cstring>
#include <span>

namespace rpmem {

std::size_t GatheredRanges::bytes() const {
    std::size_t sum = 0;
    for (const Range& range : std::span(ranges_).first(count_))
        sum += range.length;
    return sum;
}

std::size_t GatheredRanges::write(std::byte* message, const wire::PersistMessage& first,
                                  const std::byte* pool) {
    std::byte* place = message;
    std::byte* end = message;
    for (const Range& range : std::span(ranges_).first(count_)) {
        wire::PersistMessage header = first;
        header.addr += range.offset;
        header.size = range.length;
        const bool is_last = &range == &ranges_[count_ - 1];
        header.flags |= is_last ? 0 : wire::another_follows;
        std::memcpy(place, &header, sizeof(header));
        std::memcpy(place + sizeof(header), pool + range.offset, range.length);
        end = place + sizeof(header) + range.length;
        place += wire::size_among_others(range.length);
    }
    count_ = 0;
    size_ = 0;
    return static_cast<std::size_t>(end - message);
}

} // namespace rpmem
