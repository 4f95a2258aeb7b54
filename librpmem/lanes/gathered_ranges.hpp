// Small ranges that were flushed and will be sent in one message, as each message is a call to the
// network's software, which takes longer than what it carries. What is in them is copied when the
// message is written: what another lane had sent by then is not overwritten with anything older.
#pragma once

#include "wire/persist_message.hpp"

#include <array>
#include <cstddef>

namespace rpmem {

class GatheredRanges {
public:
    // CAPACITY: bytes of a message; 0: nothing is gathered.
    explicit GatheredRanges(std::size_t capacity) : capacity_(capacity) {}

    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    // Larger ones are better sent at once.
    [[nodiscard]] bool is_for(std::size_t length) const {
        return length <= most_length && capacity_ != 0;
    }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] bool has_room_for(std::size_t length) const {
        return count_ < ranges_.size() && size_ + wire::size_among_others(length) <= capacity_;
    }
    void add(std::size_t offset, std::size_t length) {
        ranges_[count_++] = {offset, length};
        size_ += wire::size_among_others(length);
    }
    // What they are to count as, in bytes, when it comes to how long the target may work without a
    // word: where it must sync its medium, each is a call that takes long.
    [[nodiscard]] std::size_t weight() const { return count_ * weight_of_each; }

    // Writes them to MESSAGE, of capacity() bytes, each behind a header like FIRST, which is that
    // of a range at offset 0 of POOL; returns the size of the message. There are no ranges
    // afterwards.
    std::size_t write(std::byte* message, const wire::PersistMessage& first, const std::byte* pool);

    static constexpr std::size_t most_length = 4096;

private:
    static constexpr std::size_t weight_of_each = 2 * most_length;
    struct Range {
        std::size_t offset;
        std::size_t length;
    };

    std::size_t capacity_;
    std::size_t size_ = 0; // of the message
    std::size_t count_ = 0;
    std::array<Range, wire::most_gathered> ranges_{};
};

} // namespace rpmem
