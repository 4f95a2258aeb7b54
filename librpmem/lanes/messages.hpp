// What the two ends agree on for the persist messages of a pool.
#pragma once

#include "fabric/provider.hpp"
#include "wire/hello.hpp"
#include "wire/persist_message.hpp"

#include <optional>

namespace rpmem {

// What the target has for the messages on their way, as far as can be told from this end.
enum class TargetBuffers {
    pinned,    // one for each, locked in memory
    one_each,  // the same, in memory that is used when a message comes
    few_large, // what finds none waits in the stream
};
TargetBuffers buffers_behind(const fabric::Provider& provider);

// What both ends can do. HELLO is nothing for a peer of protocol 0.1; INLINE_SIZE is a suggestion.
wire::MessageRules agree_on_messages(const std::optional<wire::Hello>& hello, unsigned lanes,
                                     std::size_t inline_size, TargetBuffers buffers);

// Whether the answer to message NUMBER of a lane, counted from 1, may wait for those to later ones.
// UNASKED: bytes of the ranges, its own too, for which none has been asked.
bool answer_can_wait(const wire::MessageRules& rules, std::uint64_t number, std::size_t unasked);

// Bytes of a message in which small flushed ranges are gathered; 0: each is sent by itself. That
// costs little where a device sends.
std::size_t gathered_size(const wire::MessageRules& rules, fabric::ProviderKind kind);

// Bytes up to which a relaxed range is quicker in messages than by a write and a message. Where a
// device moves the data the target's processor does best to keep out of it, but for small ones;
// elsewhere that processor copies them in any case, and need not flush what it streams.
std::size_t inline_worth(const wire::MessageRules& rules, bool by_device);

// Bytes up to which a strict range goes in messages. 1.12.1's daemon answers each before the next
// may come, and 1.12.1's library therefore writes longer ones over sockets.
std::size_t strict_inline(const wire::MessageRules& rules, fabric::ProviderKind kind);

} // namespace rpmem
