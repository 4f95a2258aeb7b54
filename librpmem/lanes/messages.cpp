#include "lanes/messages.hpp"

#include "base/cache_line.hpp"

#include <algorithm>

namespace rpmem {
namespace {

// What 1.12.1 does.
constexpr wire::MessageRules one_by_one{8192, 1, false, false};

// More in flight than this gain nothing, and the target may have a buffer for each.
constexpr unsigned most_messages = 64;

// Of one message, where its buffer is locked in memory.
constexpr std::size_t most_pinned = std::size_t{32} * 1024;

// For the buffers of all lanes on the target; pieces get smaller where there are many lanes.
constexpr std::size_t buffer_budget = std::size_t{64} * 1024 * 1024;

} // namespace

wire::MessageRules agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes,
                                     std::size_t inline_size, bool pinned) {
    if (!hello || (hello->capabilities & wire::capability_pipelining) == 0)
        return one_by_one;
    const unsigned in_flight = std::min(hello->messages, most_messages);
    const std::size_t affordable = buffer_budget / (std::size_t{lanes} * in_flight);
    const std::size_t suggested = pinned ? std::min(inline_size, most_pinned) : inline_size;
    const std::size_t best = std::max(suggested, cache_line) & ~(cache_line - 1);
    const std::size_t wanted =
        std::clamp(affordable & ~(cache_line - 1), std::min(one_by_one.inline_size, best), best);
    return {std::min<std::size_t>(wanted, hello->inline_size), in_flight, true,
            (hello->capabilities & wire::capability_late_answers) != 0};
}

std::size_t inline_worth(const wire::MessageRules& rules, bool by_device) {
    constexpr std::size_t small_size = 4096;
    if (!rules.counted_answers)
        return 0; // there is one message at a time
    return by_device ? std::min(rules.inline_size, small_size) : rules.inline_size;
}

} // namespace rpmem
