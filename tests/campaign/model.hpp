// SPDX-License-Identifier: BSD-3-Clause
// The model of what a pool must contain. Each word of 8 bytes that a call writes has the numbers of
// the call and of the word, so a torn or misplaced word is recognised by itself. A word of 0 was
// never written.
#pragma once

#include "tests/campaign/log.hpp"

#include <librpmem.h>

#include <algorithm>
#include <map>

namespace rpmem::campaign {

inline constexpr std::size_t word_size = 8;
inline constexpr unsigned index_bits = 24;
inline constexpr std::uint64_t calls_of_a_session = std::uint64_t{1} << 24;
inline constexpr std::size_t header_size = 4096;
// The number of attributes starts at 1, because zeros in user_flags are replaced by a description
// of the processor.
inline constexpr std::uint64_t first_attributes = 1;

constexpr std::uint64_t word_of(std::uint64_t id, std::size_t index) {
    return id << index_bits | index;
}

// Every field has the number, so a mixture of two versions is recognised.
inline rpmem_pool_attr attributes_of(std::uint64_t id) {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "CAMPAIGN", sizeof(attributes.signature));
    attributes.major = 1;
    attributes.compat_features = 0;
    attributes.incompat_features = 4; // a shutdown state, like pools of libpmemobj
    for (unsigned char* field : {attributes.poolset_uuid, attributes.uuid, attributes.next_uuid,
                                 attributes.prev_uuid, attributes.user_flags})
        for (unsigned half = 0; half < 2; ++half)
            std::memcpy(field + half * sizeof(id), &id, sizeof(id));
    return attributes;
}

// The state of the model after the first records of a log.
class Model {
public:
    explicit Model(std::size_t pool_size) : acknowledged_(pool_size / word_size) {}

    void apply(const Mark& mark) {
        switch (mark.step) {
        case Step::opened: // calls that an earlier program began may still take effect
            for (auto& [lane, ranges] : begun_)
                left_.insert(left_.end(), ranges.begin(), ranges.end());
            begun_.clear();
            break;
        case Step::begun:
            begun_[mark.lane].push_back(mark);
            break;
        case Step::acknowledged:
            acknowledge(mark);
            break;
        case Step::attributes:
            attributes_begun_ = mark.id;
            break;
        case Step::attributes_ok:
            attributes_acknowledged_ = mark.id;
            break;
        }
    }

    // Returns why the word may not have this value, or an empty string if it may.
    [[nodiscard]] std::string fault_of_word(std::size_t index, std::uint64_t value) const {
        const std::uint64_t id = value >> index_bits;
        const std::uint64_t expected = acknowledged_[index];
        if (value == 0 && expected == 0)
            return {};
        const std::string place = "the word at offset " + std::to_string(index * word_size);
        if (value != 0 && value != word_of(id, index))
            return place + " is torn or misplaced: " + std::to_string(value);
        if (id == expected)
            return {};
        if (id < expected)
            return place + " has call " + std::to_string(id) + ", but call " +
                   std::to_string(expected) + " was acknowledged";
        return is_begun(index, id)
                   ? std::string()
                   : place + " has call " + std::to_string(id) + ", which was never begun there";
    }
    [[nodiscard]] std::string fault_of(const rpmem_pool_attr& attributes) const {
        std::uint64_t id = 0;
        std::memcpy(&id, attributes.user_flags, sizeof(id));
        const rpmem_pool_attr whole = attributes_of(id);
        if (std::memcmp(&whole, &attributes, sizeof(whole)) != 0)
            return "the attributes are a mixture (number " + std::to_string(id) + " in user_flags)";
        if (id < attributes_acknowledged_ || id > attributes_begun_)
            return "the attributes have number " + std::to_string(id) + ", but " +
                   std::to_string(attributes_acknowledged_) + " was acknowledged, and " +
                   std::to_string(attributes_begun_) + " begun";
        return {};
    }

private:
    static std::size_t first_word(const Mark& mark) { return mark.offset / word_size; }
    static std::size_t end_word(const Mark& mark) {
        return (mark.offset + mark.length) / word_size;
    }
    void acknowledge(const Mark& mark) {
        auto& begun = begun_[mark.lane];
        for (const Mark& range : begun)
            if (range.id <= mark.id)
                for (std::size_t index = first_word(range); index < end_word(range); ++index)
                    acknowledged_[index] = std::max(acknowledged_[index], range.id);
        std::erase_if(begun, [&](const Mark& range) { return range.id <= mark.id; });
    }
    [[nodiscard]] bool is_begun(std::size_t index, std::uint64_t id) const {
        const auto has = [&](const std::vector<Mark>& ranges) {
            return std::ranges::any_of(ranges, [&](const Mark& range) {
                return range.id == id && index >= first_word(range) && index < end_word(range);
            });
        };
        return has(left_) ||
               std::ranges::any_of(begun_, [&](const auto& lane) { return has(lane.second); });
    }

    std::vector<std::uint64_t> acknowledged_; // the newest acknowledged call, by word
    std::map<std::uint32_t, std::vector<Mark>> begun_;
    std::vector<Mark> left_; // unfinished calls of earlier programs
    std::uint64_t attributes_begun_ = first_attributes;
    std::uint64_t attributes_acknowledged_ = first_attributes;
};

} // namespace rpmem::campaign
