// SPDX-License-Identifier: BSD-3-Clause
// The sizes of the packed control messages, for the encoder, the decoder and their tests.
#pragma once

#include "common/wire/control_messages.hpp"

#include <cstddef>
#include <cstdint>

namespace rpmem::wire::layout {

inline constexpr std::size_t common_size = 2 + 2 + 8 + 4 + 4 + 8;
inline constexpr std::size_t attributes_size = 8 + 4 * 4 + 5 * 16;
inline constexpr std::size_t in_band_size = 4 + 4 + 8 + 8 + 4;
inline constexpr std::size_t pool_set_prefix_size = 4;

inline constexpr std::size_t open_fixed_size =
    request_header_size + common_size + pool_set_prefix_size;
inline constexpr std::size_t create_fixed_size = open_fixed_size + attributes_size;
inline constexpr std::size_t close_size = request_header_size + 4;
inline constexpr std::size_t set_attributes_size = request_header_size + attributes_size;
inline constexpr std::size_t login_size = request_header_size + 8 + takeover_key_size + 64 + 32;

inline constexpr std::size_t create_response_size = response_header_size + in_band_size;
inline constexpr std::size_t open_response_size = create_response_size + attributes_size;

static_assert(attributes_size == sizeof(PoolAttributes));
static_assert(create_fixed_size + max_pool_set_size == max_message_size);

inline constexpr std::uint32_t close_flag_remove = 1;

// Like std::to_underlying() of C++23.
template <typename Enum>
constexpr std::uint32_t raw(Enum value) {
    return static_cast<std::uint32_t>(value);
}

struct MessageKind {
    MessageType type;
    const char* name;
    std::size_t smallest;
    std::size_t largest;
    MessageType response; // the message's own type if it is a response
};

// An empty pool set name passes the size check, because the decoder has a better error text for it.
inline constexpr MessageKind message_kinds[] = {
    {MessageType::create, "CREATE", create_fixed_size + 1, create_fixed_size + max_pool_set_size,
     MessageType::create_response},
    {MessageType::create_response, "CREATE response", create_response_size, create_response_size,
     MessageType::create_response},
    {MessageType::open, "OPEN", open_fixed_size + 1, open_fixed_size + max_pool_set_size,
     MessageType::open_response},
    {MessageType::open_response, "OPEN response", open_response_size, open_response_size,
     MessageType::open_response},
    {MessageType::close, "CLOSE", close_size, close_size, MessageType::close_response},
    {MessageType::close_response, "CLOSE response", response_header_size, response_header_size,
     MessageType::close_response},
    {MessageType::set_attributes, "SET_ATTR", set_attributes_size, set_attributes_size,
     MessageType::set_attributes_response},
    {MessageType::set_attributes_response, "SET_ATTR response", response_header_size,
     response_header_size, MessageType::set_attributes_response},
    {MessageType::login, "LOGIN", login_size, login_size, MessageType::login_response},
    {MessageType::login_response, "LOGIN response", response_header_size, response_header_size,
     MessageType::login_response},
    {MessageType::heartbeat, "HEARTBEAT", request_header_size, request_header_size,
     MessageType::target_heartbeat},
    {MessageType::target_heartbeat, "heartbeat of the target", response_header_size,
     response_header_size, MessageType::target_heartbeat},
};

[[nodiscard]] constexpr const MessageKind* find_kind(MessageType type) {
    for (const MessageKind& kind : message_kinds)
        if (kind.type == type)
            return &kind;
    return nullptr;
}

[[nodiscard]] constexpr bool is_request(const MessageKind& kind) {
    return kind.response != kind.type;
}

// Returns null if TYPE is not the type of a request.
[[nodiscard]] constexpr const MessageKind* find_request(MessageType type) {
    const MessageKind* const kind = find_kind(type);
    return kind && is_request(*kind) ? kind : nullptr;
}

} // namespace rpmem::wire::layout
