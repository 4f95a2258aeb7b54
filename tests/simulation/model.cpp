// SPDX-License-Identifier: BSD-3-Clause
// The checks of the model: durable versions, versions in answers of reads, and torn words.
#include "tests/simulation/model.hpp"

namespace rpmem::simulation {
namespace {

constexpr std::uint8_t last_version = 250;
constexpr std::size_t word_size = 8;
constexpr std::size_t words = pool_size / word_size;
// There are many more places than remembered words, so that two words rarely share one.
constexpr std::size_t places = std::size_t{1} << 20;

// The value of each byte at version 0.
constexpr std::array<std::uint8_t, pool_size> make_salts() {
    std::array<std::uint8_t, pool_size> salts{};
    for (std::size_t i = 0; i < pool_size; ++i)
        salts[i] = static_cast<std::uint8_t>((i * 0x9e3779b97f4a7c15) >> 40);
    return salts;
}
const std::array<std::uint8_t, pool_size> salts = make_salts();

std::uint8_t version_of(std::byte byte, std::size_t offset) {
    return static_cast<std::uint8_t>(std::to_integer<unsigned>(byte) - salts[offset]);
}

template <typename Visit>
void for_each_word(const Range& range, Visit visit) {
    const std::size_t end = (range.offset + range.length + word_size - 1) / word_size;
    for (std::size_t word = range.offset / word_size; word < end; ++word)
        visit(word);
}

} // namespace

Model::Model(World& world, unsigned lanes, std::span<std::byte> pool, std::span<std::byte> durable,
             std::span<std::byte> memory)
    : world_(world), lanes_(lanes), pool_(pool), durable_(durable),
      own_memory_(memory.empty() ? pool_size : 0),
      memory_(memory.empty() ? std::span(own_memory_) : memory), promised_(pool_size),
      flushed_(pool_size), acknowledged_(pool_size), versions_(max_lanes), pending_(max_lanes),
      newest_(pool_size), is_passed_(pool_size), passed_(max_lanes), words_seen_(places),
      is_under_way_(words), is_unknown_(words) {
    std::ranges::transform(salts, memory_.begin(),
                           [](std::uint8_t salt) { return std::byte{salt}; });
    std::ranges::copy(memory_, pool_.begin());
    std::ranges::copy(memory_, durable_.begin());
    for (std::size_t word = 0; word < lanes * region_size / word_size; ++word)
        remember(word);
}

std::size_t Model::place_of(std::size_t word, std::span<const std::byte> bytes) const {
    std::uint64_t content;
    std::memcpy(&content, bytes.data() + word * word_size, word_size);
    return Random::mixed(content + word) % places;
}

void Model::remember(std::size_t word) { words_seen_[place_of(word, memory_)] = true; }

bool Model::store(unsigned lane, const Range& range) {
    if (versions_[lane] == last_version)
        return false;
    const unsigned version = ++versions_[lane];
    for (std::size_t i = range.offset; i < range.offset + range.length; ++i)
        memory_[i] = static_cast<std::byte>(salts[i] + version);
    if (!newest_memory_.empty())
        std::ranges::copy(memory_.subspan(range.offset, range.length),
                          newest_memory_.begin() + static_cast<std::ptrdiff_t>(range.offset));
    for_each_word(range, [this](std::size_t word) {
        remember(word);
        is_unknown_[word] = is_unknown_[word] || is_under_way_[word];
        is_under_way_[word] = true;
    });
    return true;
}

void Model::passed(unsigned lane, const Range& range) {
    std::fill_n(is_passed_.begin() + static_cast<std::ptrdiff_t>(range.offset), range.length,
                std::uint8_t{1});
    passed_[lane].push_back(range);
}

void Model::check_not_passed() {
    if (sends_blocks_)
        return;
    // There is no branch, so that the compiler can vectorise the loop.
    std::uint8_t wrong = 0;
    for (std::size_t i = 0; i < lanes_ * region_size; ++i) {
        const bool is_newer = version_of(pool_[i], i) > newest_[i];
        wrong = static_cast<std::uint8_t>(wrong | (is_newer & (is_passed_[i] == 0) ? 1 : 0));
    }
    if (wrong == 0)
        return;
    for (std::size_t i = 0; i < lanes_ * region_size; ++i)
        if (!is_passed_[i] && version_of(pool_[i], i) > newest_[i])
            return world_.find(fmt::format(
                "byte {} of the pool, lane {}, left without having been passed to a call", i,
                i / region_size));
}

void Model::flushed(unsigned lane, const Range& range) {
    for (std::size_t i = range.offset; i < range.offset + range.length; ++i)
        flushed_[i] = version_of(memory_[i], i);
    pending_[lane].push_back(range);
}

void Model::acknowledged(unsigned lane) {
    for (const Range& range : pending_[lane]) {
        const auto versions = std::span(flushed_).subspan(range.offset, range.length);
        std::ranges::copy(versions,
                          acknowledged_.begin() + static_cast<std::ptrdiff_t>(range.offset));
        if (!is_replaced_)
            check(durable_.subspan(range.offset, range.length), versions, range,
                  "was acknowledged and is not durable");
        for_each_word(range, [this](std::size_t word) { is_under_way_[word] = false; });
    }
    pending_[lane].clear();
    no_longer_passed(lane);
}

void Model::promised(unsigned lane) {
    for (const Range& range : pending_[lane]) {
        for (std::size_t i = range.offset; i < range.offset + range.length; ++i)
            promised_[i] = flushed_[i];
        has_promises_ = true;
    }
    pending_[lane].clear();
    no_longer_passed(lane);
}

void Model::check_promises() {
    if (!std::exchange(has_promises_, false) || is_replaced_)
        return;
    const Range all{0, lanes_ * region_size};
    check(durable_.first(all.length), promised_, all,
          "was promised by a call and is not durable, though the replica is in sync");
    for (std::size_t i = 0; i < all.length; ++i)
        acknowledged_[i] = std::max(acknowledged_[i], promised_[i]);
    std::ranges::fill(promised_, std::uint8_t{0});
}

void Model::program_has_died() {
    for (std::vector<Range>& pending : pending_)
        pending.clear();
    flushed_ = acknowledged_; // the replica may be behind
}

void Model::restore(std::span<const std::byte> older) {
    // The pool may get a mixture of newer bytes and those that are stored from now on.
    sends_blocks_ = true;
    is_unknown_.assign(words, true);
    if (newest_memory_.empty())
        newest_memory_.assign(memory_.begin(), memory_.end());
    std::ranges::copy(older, memory_.begin());
}

void Model::no_longer_passed(unsigned lane) {
    for (const Range& range : passed_[lane])
        for (std::size_t i = range.offset; i < range.offset + range.length; ++i) {
            newest_[i] = version_of(memory_[i], i);
            is_passed_[i] = false;
        }
    passed_[lane].clear();
}

// Stores that were not flushed may also become durable, word by word. Therefore the pool is checked
// too.
void Model::check_power_cut() {
    if (is_replaced_)
        return;
    const Range all{0, lanes_ * region_size};
    check(durable_.first(all.length), acknowledged_, all, "was lost with the power");
    check(pool_.first(all.length), acknowledged_, all, "was overwritten by something older");
    check_words();
}

void Model::check_words() {
    for (std::size_t word = 0; word < lanes_ * region_size / word_size; ++word)
        if (!words_seen_[place_of(word, pool_)] && !is_unknown_[word])
            return world_.find(fmt::format("the word at {} of the pool, lane {}, is torn",
                                           word * word_size, word * word_size / region_size));
}

std::vector<std::uint8_t> Model::oldest_answer(unsigned lane, const Range& range) const {
    const bool is_own = range.offset / region_size == lane;
    const auto from =
        (is_own ? flushed_ : acknowledged_).begin() + static_cast<std::ptrdiff_t>(range.offset);
    return {from, from + static_cast<std::ptrdiff_t>(range.length)};
}

void Model::check_answer(const Range& range, std::span<const std::uint8_t> oldest,
                         std::span<const std::byte> answer) {
    if (is_replaced_)
        return;
    check(answer, oldest, range, "was not what a read brought");
}

void Model::check(std::span<const std::byte> bytes, std::span<const std::uint8_t> oldest,
                  const Range& range, const char* what) {
    // There is no branch, so that the compiler can vectorise the loop.
    std::uint8_t wrong = 0;
    const std::span<const std::byte> newest_bytes = newest_memory();
    const std::byte* const newest = newest_bytes.data() + range.offset;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::uint8_t version = version_of(bytes[i], range.offset + i);
        const bool is_right =
            version >= oldest[i] && version <= version_of(newest[i], range.offset + i);
        wrong = static_cast<std::uint8_t>(wrong | (is_right ? 0 : 1));
    }
    if (wrong == 0)
        return;
    std::size_t i = 0;
    while (version_of(bytes[i], range.offset + i) >= oldest[i] &&
           version_of(bytes[i], range.offset + i) <= version_of(newest[i], range.offset + i))
        ++i;
    const std::size_t place = range.offset + i;
    world_.find(
        fmt::format("byte {} of the pool, lane {}, {}: it has version {}, {} to {} are right",
                    place, place / region_size, what, version_of(bytes[i], place), oldest[i],
                    version_of(newest[i], place)));
}

} // namespace rpmem::simulation
