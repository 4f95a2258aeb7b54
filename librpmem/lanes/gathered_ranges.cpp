#include "lanes/gathered_ranges.hpp"

#include <cstring>
#include <span>

namespace rpmem {

std::size_t GatheredRanges::write(std::byte* message, const wire::PersistMessage& first,
                                  const std::byte* pool) {
    std::byte* end = message;
    for (const Range& range : std::span(ranges_).first(count_)) {
        wire::PersistMessage header = first;
        header.addr += range.offset;
        header.size = range.length;
        const bool is_last = &range == &ranges_[count_ - 1];
        header.flags |= is_last ? 0 : wire::another_follows;
        std::memcpy(end, &header, sizeof(header));
        std::memcpy(end + sizeof(header), pool + range.offset, range.length);
        const std::size_t size = sizeof(header) + range.length;
        const std::size_t whole = is_last ? size : wire::size_among_others(range.length);
        std::memset(end + size, 0, whole - size);
        end += whole;
    }
    count_ = 0;
    size_ = 0;
    return static_cast<std::size_t>(end - message);
}

} // namespace rpmem
