// SPDX-License-Identifier: BSD-3-Clause
// The table of all control messages, for the encoders, the decoders and their tests: types, names,
// sizes, responses, and what an unsolicited message requires.
#pragma once

#include "common/wire/byte_writer.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "common/wire/unsolicited.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

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

inline constexpr std::size_t set_replica_state_size = request_header_size + 4;

inline constexpr std::size_t create_response_size = response_header_size + in_band_size;
inline constexpr std::size_t open_response_size = create_response_size + attributes_size;

inline constexpr std::size_t pool_claim_size = response_header_size + 16 + 8 + 8 + 32;
inline constexpr std::size_t pool_state_size =
    response_header_size + 16 + 8 + 8 + 8 + 8 + 8 + 8 + 8 + 32;
inline constexpr std::size_t medium_failure_fixed_size = response_header_size + 8 + 8 + 4 + 4 + 4;

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
    MessageType response; // the message's own type if it is not a request
    // What both ends must have agreed on. Null unless the daemon sends the message unsolicited.
    bool Agreement::*agreed = nullptr;
    Status unsolicited_status = Status::success; // the status in the header of such a message
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
    {MessageType::medium_failure, "MEDIUM_FAILURE", medium_failure_fixed_size,
     medium_failure_fixed_size + max_part_bytes + max_medium_failure_text,
     MessageType::medium_failure, &Agreement::medium_failure, Status::medium_failed},
    {MessageType::login, "LOGIN", login_size, login_size, MessageType::login_response},
    {MessageType::login_response, "LOGIN response", response_header_size, response_header_size,
     MessageType::login_response},
    {MessageType::heartbeat, "HEARTBEAT", request_header_size, request_header_size,
     MessageType::target_heartbeat},
    {MessageType::target_heartbeat, "heartbeat of the target", response_header_size,
     response_header_size, MessageType::target_heartbeat, &Agreement::resume},
    {MessageType::notice, "NOTICE", response_header_size + 1,
     response_header_size + max_notice_bytes, MessageType::notice, &Agreement::resume},
    {MessageType::pool_claim, "POOL_CLAIM", pool_claim_size, pool_claim_size,
     MessageType::pool_claim, &Agreement::pool_claim},
    {MessageType::set_replica_state, "SET_REPLICA_STATE", set_replica_state_size,
     set_replica_state_size, MessageType::set_replica_state_response},
    {MessageType::set_replica_state_response, "SET_REPLICA_STATE response", response_header_size,
     response_header_size, MessageType::set_replica_state_response},
    {MessageType::pool_state, "POOL_STATE", pool_state_size, pool_state_size,
     MessageType::pool_state, &Agreement::compare},
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

template <typename... Args>
Failure malformed(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorClass::target_refused, EBADMSG, format, std::forward<Args>(args)...);
}

// Fails with EBADMSG if a message of KIND cannot have SIZE bytes.
[[nodiscard]] Result<> check_size(const MessageKind& kind, std::uint64_t size);

// Appends the header of a response or of an unsolicited message.
void put_header(ByteWriter& writer, Status status, MessageType type, std::size_t size);

} // namespace rpmem::wire::layout
