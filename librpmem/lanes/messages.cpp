#include "lanes/messages.hpp"

#include "base/cache_line.hpp"
#include "lanes/gathered_ranges.hpp"

#include <algorithm>
#include <limits>

namespace rpmem {
namespace {

// What 1.12.1 does.
constexpr wire::MessageRules one_by_one{8192, 1, false, false};

// More in flight than this gain nothing, and the target may have a buffer for each.
constexpr unsigned most_messages = 64;

// Of one message, where its buffer is locked in memory.
constexpr std::size_t most_pinned = std::size_t{32} * 1024;

// Of a lane, where they are few.
constexpr std::size_t few = 4;

// For the buffers of all lanes on the target; pieces get smaller where there are many lanes.
std::size_t budget(TargetBuffers buffers) {
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    return (buffers == TargetBuffers::few_large ? 1024 : 64) * mebibyte;
}

} // namespace

TargetBuffers buffers_behind(const fabric::Provider& provider) {
    if (provider.pins_memory)
        return TargetBuffers::pinned;
    return provider.holds_back_messages ? TargetBuffers::few_large : TargetBuffers::one_each;
}

wire::MessageRules agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes,
                                     std::size_t inline_size, TargetBuffers buffers) {
    if (!hello || (hello->capabilities & wire::capability_pipelining) == 0)
        return one_by_one;
    const unsigned in_flight = std::min(hello->messages, most_messages);
    const std::size_t of_a_lane = buffers == TargetBuffers::few_large ? few : in_flight;
    const std::size_t affordable = budget(buffers) / (lanes * of_a_lane);
    const std::size_t suggested =
        buffers == TargetBuffers::pinned ? std::min(inline_size, most_pinned) : inline_size;
    const std::size_t best = std::max(suggested, cache_line) & ~(cache_line - 1);
    const std::size_t wanted =
        std::clamp(affordable & ~(cache_line - 1), std::min(one_by_one.inline_size, best), best);
    const std::size_t agreed = std::min<std::size_t>(wanted, hello->inline_size);
    return {agreed,
            in_flight,
            true,
            (hello->capabilities & wire::capability_late_answers) != 0,
            (hello->capabilities & wire::capability_windows) != 0 ? wire::window_count(agreed) : 1,
            (hello->capabilities & wire::capability_processors) != 0,
            (hello->capabilities & wire::capability_gathering) != 0};
}

// The target must answer before half of the messages that may be in flight are without an answer,
// so that there is always room for more; and on a slow network often enough to show that it goes
// on.
bool answer_can_wait(const wire::MessageRules& rules, std::uint64_t number, std::size_t unasked) {
    constexpr std::size_t most_unasked = std::size_t{1024} * 1024;
    const unsigned half = rules.in_flight / 2;
    return rules.late_answers && half > 1 && number % half != 0 && unasked < most_unasked;
}

std::size_t gathered_size(const wire::MessageRules& rules, fabric::ProviderKind kind) {
    // One packet of the loopback device, with its headers: see piece_of().
    constexpr std::size_t packet = std::size_t{64} * 1024 - 256;
    const bool is_worth_it = rules.gathering && kind == fabric::ProviderKind::tcp &&
                             rules.inline_size >= 2 * GatheredRanges::most_length;
    return is_worth_it ? std::min(packet, rules.inline_size) : 0;
}

std::size_t inline_worth(const wire::MessageRules& rules, bool by_device) {
    constexpr std::size_t small_size = 4096;
    if (!rules.counted_answers)
        return 0; // there is one message at a time
    return by_device ? std::min(rules.inline_size, small_size)
                     : std::numeric_limits<std::size_t>::max();
}

std::size_t strict_inline(const wire::MessageRules& rules, fabric::ProviderKind kind) {
    return !rules.counted_answers && kind == fabric::ProviderKind::sockets
               ? rules.inline_size
               : std::numeric_limits<std::size_t>::max();
}

} // namespace rpmem
