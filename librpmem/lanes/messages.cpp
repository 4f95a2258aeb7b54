#include "lanes/messages.hpp"

#include <algorithm>

namespace rpmem {
namespace {

// What 1.12.1 does.
constexpr Messages one_by_one{8192, 1, false};

// More in flight than this gain nothing, and the target has a buffer for each.
constexpr unsigned most_messages = 64;

// Large ranges are cut: one piece is copied on the target while the next is on its way.
constexpr std::size_t best_inline_size = std::size_t{32} * 1024;

// For the buffers of all lanes on the target; pieces get smaller where there are many lanes.
constexpr std::size_t buffer_budget = std::size_t{64} * 1024 * 1024;

} // namespace

Messages agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes) {
    if (!hello || (hello->capabilities & wire::capability_pipelining) == 0)
        return one_by_one;
    const unsigned in_flight = std::min(hello->messages, most_messages);
    const std::size_t affordable = buffer_budget / (std::size_t{lanes} * in_flight);
    const std::size_t wanted =
        std::clamp(affordable & ~std::size_t{63}, one_by_one.inline_size, best_inline_size);
    return {std::min<std::size_t>(wanted, std::max<std::size_t>(hello->inline_size, 64)), in_flight,
            true};
}

} // namespace rpmem
