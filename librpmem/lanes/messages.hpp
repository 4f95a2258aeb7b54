// What the two ends agree on for the persist messages of a pool.
#pragma once

#include "wire/hello.hpp"
#include "wire/persist_message.hpp"

#include <optional>

namespace rpmem {

// What both ends can do. HELLO is nothing for a peer of protocol 0.1; INLINE_SIZE is a suggestion;
// PINNED: the target's buffers are locked in its memory.
wire::MessageRules agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes,
                                     std::size_t inline_size, bool pinned);

// Bytes up to which a relaxed range is quicker in a message than by a write and a message. Where a
// device moves the data the target's processor does best to keep out of it, but for small ones.
std::size_t inline_worth(const wire::MessageRules& rules, bool by_device);

} // namespace rpmem
